/** Reads one list of one backend, by the link of a session. */
import type { Backend, Link } from '../backends/backend.ts'
import type { Gates } from '../backends/gates.ts'
import type { GatewayError } from '../errors.ts'
import type { Links } from '../links/links.ts'
import type { Message } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { askUpstream } from './ask-upstream.ts'
import type { Known } from './known.ts'
import type { Entry } from './list-entry.ts'
import { emptyList, type Fetched, fetchList } from './list-fetch.ts'

export interface Reading {
  readonly known: Known
  readonly gates: Pick<Gates, 'of'>
  readonly links: Pick<Links, 'ready' | 'get' | 'users'>
  /** How long (ms) a backend may take for one page. */
  readonly timeoutMs: (backend: Backend, method: string) => number
  /** What the upstream says meanwhile. */
  readonly receive: (message: Message, link: Link, backend: Backend, users: ReadonlySet<Live>) => void
}

/** Rejects with the GatewayError of a link that does not open, or of a list that is none. What an upstream lacks it is not asked for. */
export function readList({ backend, kind, list }: Entry, live: Live, reading: Reading): Promise<Fetched> {
  const { known, gates, links, receive, timeoutMs } = reading
  const once = async (): Promise<Fetched> => {
    const link = links.ready(live, backend) ?? (await links.get(live, backend))
    if (link.server.capabilities[kind.capability] === undefined) {
      // Links opened since have it: what they read counts.
      return { list: (known.has(backend, kind.capability) ? list : undefined) ?? emptyList, hint: undefined }
    }
    const hear = (message: Message): void => receive(message, link, backend, links.users(live, backend))
    const options = { timeoutMs: timeoutMs(backend, kind.method), backend: backend.name, receive: hear }
    return fetchList(kind, backend.name, request => askUpstream(link, request, options))
  }
  const twice = (error: GatewayError): Promise<Fetched> =>
    error.code === 'backend_session_lost' ? once() : Promise.reject(error)
  return gates.of(backend).run(() => once().catch(twice))
}
