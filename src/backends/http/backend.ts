/** Backend kind `http`: a Streamable HTTP upstream of either era, of any revision from 2025-03-26 on (basic/transports). */
import { createHash, randomInt } from 'node:crypto'
import { GatewayError } from '../../errors.ts'
import type { Backend, Link, OpenOptions, Tuning } from '../backend.ts'
import { type Clock, systemClock } from '../clock.ts'
import { EraOf, type EraOption, legacyVerdict, said, type Verdict } from '../era.ts'
import { unlessAborted } from '../unless-aborted.ts'
import { askEra } from './discover.ts'
import { codeOf, sessionLost, unavailable } from './faults.ts'
import { HttpLink } from './link.ts'
import { Modern } from './modern.ts'
import { ModernHttpLink, modernState } from './modern-link.ts'
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
  /** What it speaks, where that is not to be found out. Default `legacy`. */
  readonly era?: EraOption
  /** JSON text of the gateway's own `clientInfo`, for requests of its own. */
  readonly info?: string
  /** For tests. */
  readonly clock?: Clock
}

export class HttpBackend implements Backend {
  readonly name: string
  readonly identity: string
  readonly scope = 'session'
  readonly #wire: Wire
  readonly #links = new Set<HttpLink>()
  readonly #era: EraOf
  readonly #modern: Modern
  #headers: Readonly<Record<string, string>>

  constructor(options: HttpBackendOptions) {
    this.name = options.name
    this.identity = createHash('sha256')
      .update(JSON.stringify(['http', options.name, options.url, ...said(options.era)]))
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
    this.#era = new EraOf(options.name, options.era ?? 'legacy', this.#wire.clock)
    const self = { capabilities: '{}', info: options.info ?? '{"name":"causeway","version":"0"}' }
    const recheck = this.#era.isOpen ? () => this.#isModern() : undefined
    this.#modern = new Modern(this.#wire, self, this.#headers, recheck, async () => void (await this.#ask()))
  }

  /** A connection that breaks in the handshake is as bad as none: who resets each of them is down. */
  async open(options: OpenOptions): Promise<Link> {
    try {
      return await this.#open(options)
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'backend_broke') this.#wire.health.down(reasonOf(error))
      throw error
    }
  }

  async #open(options: OpenOptions): Promise<Link> {
    if (options.state !== undefined && options.state !== modernState) {
      const facts = readState(options.state)
      if (facts === undefined) throw sessionLost(this.name)
      return this.#link(options, facts, randomInt(2 ** 47))
    }
    const known = this.#era.verdict
    const verdict = known ?? (await this.#find(options))
    if (verdict.era === 'modern') return this.#modernLink(verdict, options)
    try {
      return await this.#openLegacy(options)
    } catch (error) {
      // Taken for legacy once, and not any more: it may have been replaced.
      if (known === undefined || !this.#era.isOpen || !isRefused(error)) throw error
      this.#era.doubt()
      const now = await this.#find(options)
      if (now.era === 'legacy') throw error
      return this.#modernLink(now, options)
    }
  }

  #modernLink({ discovered }: Extract<Verdict, { era: 'modern' }>, options: OpenOptions): Link {
    this.#modern.meet(discovered)
    return new ModernHttpLink(this.#modern, options)
  }

  /** Asked again. */
  async #isModern(): Promise<boolean> {
    this.#era.doubt()
    return (await this.#ask()).era === 'modern'
  }

  /** What it is: asked when that is not known. */
  async #ask(): Promise<Verdict> {
    const verdict = await this.#era.find(() => askEra(this.#modern))
    if (verdict.era === 'modern') this.#modern.meet(verdict.discovered)
    return verdict
  }

  async #find({ signal }: OpenOptions): Promise<Verdict> {
    try {
      return await unlessAborted(this.#ask(), signal)
    } catch (error) {
      throw error instanceof GatewayError ? error : unavailable(this.name, error)
    }
  }

  async #openLegacy(options: OpenOptions): Promise<Link> {
    const facts = await handshake(this.#wire, options, this.#headers)
    this.#era.holds(legacyVerdict)
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
    this.#modern.tune(headers)
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

const reasonOf = ({ cause, message }: GatewayError): string => (cause instanceof Error ? codeOf(cause) : message)

/** It answered, and would not shake hands. */
const isRefused = (error: unknown): boolean =>
  error instanceof GatewayError &&
  (error.code === 'backend_invalid' || error.code === 'backend_status' || error.data.code !== undefined)
