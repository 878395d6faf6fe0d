/** A http backend in front of a scripted upstream, for one test. */
import type { Test } from 'tap'
import { anonymous } from '../../src/auth/principal.ts'
import type { Exchange, Link, OpenOptions } from '../../src/backends/backend.ts'
import { HttpBackend, type HttpBackendOptions } from '../../src/backends/http/backend.ts'
import { GatewayError } from '../../src/errors.ts'
import { type Message, readMessage } from '../../src/protocol/message.ts'
import { bytes } from '../../src/protocol/write.ts'
import { type BackendFact, type DropFact, facts, type NoticeFact } from '../../src/telemetry/events.ts'
import { HttpUpstream, type HttpUpstreamOptions } from './http-upstream.ts'
import { contractTools, Scripted } from './scripted.ts'

export interface Bench {
  readonly upstream: HttpUpstream
  readonly server: Scripted
  readonly backend: HttpBackend
  readonly drops: string[]
  readonly notices: NoticeFact[]
  readonly backends: BackendFact[]
  readonly received: Message[]
  readonly ended: Error[]
  open(options?: Partial<OpenOptions>): Promise<Link>
}

export async function bench(
  t: Test,
  upstreamOptions: HttpUpstreamOptions = {},
  options: Partial<HttpBackendOptions> = {}
): Promise<Bench> {
  const server = contractTools(new Scripted())
  const upstream = await HttpUpstream.start(server, upstreamOptions)
  const backend = new HttpBackend({ name: 'docs', url: upstream.url, timeout: 5_000, ...options })
  const links: Link[] = []
  const made: Bench = {
    upstream,
    server,
    backend,
    drops: [],
    notices: [],
    backends: [],
    received: [],
    ended: [],
    async open(options = {}) {
      const link = await backend.open({
        principal: anonymous,
        client: { version: '2025-03-26', capabilities: '{}', info: '{"name":"c","version":"1"}' },
        signal: new AbortController().signal,
        receive: message => made.received.push(message),
        ended: reason => made.ended.push(reason),
        ...options
      })
      links.push(link)
      return link
    }
  }
  const unsubscribe = [
    facts.drop.subscribe(({ reason }: DropFact) => made.drops.push(reason)),
    facts.notice.subscribe(notice => made.notices.push(notice)),
    facts.backend.subscribe(fact => made.backends.push(fact))
  ]
  t.teardown(async () => {
    for (const end of unsubscribe) end()
    await Promise.all(links.map(link => link.close()))
    await backend.close()
    await upstream.close()
  })
  return made
}

export const principal = { principal: anonymous }

export const call = (link: Link, name: string, rest = '{}', id = '7', token?: string): Exchange =>
  link.exchange(
    readMessage(
      Buffer.from(
        `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${rest}` +
          `${token === undefined ? '' : `,"_meta":{"progressToken":${token}}`}}}`
      ),
      64
    ),
    principal
  )

/** Texts of every message. */
export async function texts(exchange: Exchange): Promise<string[]> {
  const all: string[] = []
  for await (const message of exchange) all.push(bytes(message).toString())
  return all
}

export async function failure(exchange: Exchange): Promise<GatewayError> {
  try {
    await texts(exchange)
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('the exchange did not fail')
}
