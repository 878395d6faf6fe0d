/** Request headers towards one upstream, as the flat list that undici takes without copying: name, value, name, value. */
import { lastEventHeader, sessionHeader, versionHeader } from '../../protocol/headers.ts'

export interface LegHeaders {
  /** Of a request: its answer may be JSON or a stream. */
  readonly post: string[]
  /** Of a stream by GET. */
  readonly get: string[]
  /** Of the DELETE that ends the session. */
  readonly delete: string[]
}

/**
 * Nothing of a client's request is in them: they are the protocol's own, then the configured ones. `session` and `version`
 * are those of this leg (basic/transports, "Session Management" and "Protocol Version Header").
 */
export function legHeaders(
  configured: Readonly<Record<string, string>>,
  session: string | undefined,
  version: string | undefined
): LegHeaders {
  const own: string[] = ['accept-encoding', 'identity']
  if (session !== undefined) own.push(sessionHeader, session)
  if (version !== undefined) own.push(versionHeader, version)
  for (const [name, value] of Object.entries(configured)) own.push(name, value)
  return {
    post: ['accept', 'application/json, text/event-stream', 'content-type', 'application/json', ...own],
    get: ['accept', 'text/event-stream', ...own],
    delete: own
  }
}

/** The headers of a GET that goes on after an event. `id` is one that {@link usableId} let pass. */
export const resumeHeaders = (get: readonly string[], id: string): string[] => [
  ...get,
  lastEventHeader,
  Buffer.from(id).toString('latin1')
]

/** Event ids longer than this (UTF-8 bytes) are not sent back: servers bound their request heads. */
const maxIdBytes = 4096

/** The id, when it can stand in a header. */
export const usableId = (id: string): string | undefined =>
  id !== '' && !/[\x00-\x1f\x7f]|^ | $/.test(id) && Buffer.byteLength(id) <= maxIdBytes ? id : undefined

/** The value of `Mcp-Session-Id` when it is one: visible ASCII (basic/transports, "Session Management", 1), 1024 characters at most. */
export const sessionIdOf = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' && /^[\x21-\x7e]{1,1024}$/.test(value) ? value : undefined

/** The media type of a `Content-Type`, in lower case; '' when there is none. */
export const mediaType = (value: string | string[] | undefined): string => {
  if (typeof value !== 'string') return ''
  if (value === 'application/json' || value === 'text/event-stream') return value
  const end = value.indexOf(';')
  return (end === -1 ? value : value.slice(0, end)).trim().toLowerCase()
}
