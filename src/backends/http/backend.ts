/** Backend kind `http`: a Streamable HTTP upstream of any revision from 2025-03-26 on (basic/transports). */
import { createHash, randomInt } from 'node:crypto'
import type { Backend, Link, OpenOptions, Tuning } from '../backend.ts'
import { type Clock, systemClock } from '../clock.ts'
import { sessionLost, unavailable } from './faults.ts'
import { HttpLink } from './link.ts'
import { handshake, initialized, initializeId } from './open.ts'
import { type LinkFacts, readState } from './state.ts'
import { Wire } from './wire.ts'

export interface HttpBackendOptions {
  readonly name: string
  /** http or https, without credentials and fragment. */
  readonly url: string
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Milliseconds for connecting, for the handshake, and for notifications, answers and DELETE. Default 60,000. */
  readonly timeout?: number
  /** `upstream`: bytes of one message (32 MiB). `depth`: of nesting (64). */
  readonly limits?: { readonly upstream?: number; readonly depth?: number }
  /** For tests. */
  readonly clock?: Clock
}

export class HttpBackend implements Backend {
  readonly name: string
  readonly identity: string
  readonly scope = 'session'
  readonly #wire: Wire
  readonly #links = new Set<HttpLink>()
  #headers: Readonly<Record<string, string>>

  constructor(options: HttpBackendOptions) {
    this.name = options.name
    this.identity = createHash('sha256')
      .update(JSON.stringify(['http', options.name, options.url]))
      .digest('hex')
    this.#headers = options.headers ?? {}
    this.#wire = new Wire({
      name: options.name,
      url: options.url,
      timeout: options.timeout ?? 60_000,
      limit: options.limits?.upstream ?? 32 * 1024 * 1024,
      depth: options.limits?.depth ?? 64,
      clock: options.clock ?? systemClock
    })
  }

  async open(options: OpenOptions): Promise<Link> {
    if (options.state !== undefined) {
      const facts = readState(options.state)
      if (facts === undefined) throw sessionLost(this.name)
      return this.#link(options, facts, randomInt(2 ** 47))
    }
    const facts = await handshake(this.#wire, options, this.#headers)
    const link = this.#link(options, facts, initializeId + 1)
    await initialized(this.#wire, link.headers.post)
    if (!options.signal.aborted) return link
    void link.close()
    throw unavailable(this.name, options.signal.reason)
  }

  tune({ headers, timeout, retired }: Tuning): void {
    if (retired) this.#wire.health.retire()
    if (timeout !== undefined) this.#wire.tune(timeout)
    if (headers === undefined) return
    this.#headers = headers
    for (const link of this.#links) link.tune(headers)
  }

  /** Connections are cut; links that are still open fail. */
  close(): Promise<void> {
    return this.#wire.close()
  }

  #link(options: OpenOptions, facts: LinkFacts, firstId: number): HttpLink {
    const link = new HttpLink(this.#wire, options, facts, this.#headers, firstId, closed => this.#links.delete(closed))
    this.#links.add(link)
    return link
  }
}
