/** The request target (RFC 9112, section 3.2): which path it names, exactly as written, and for which host. */
import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../errors.ts'

const slash = 0x2f

/** Scheme and authority in front of the path: how requests to a proxy are written. */
const absolute = /^https?:\/\/([^/?#]*)/i

/** Nothing is decoded, folded or cut off but the query: what only resembles a route is not there (A14). */
export function pathOf({ url }: IncomingMessage): string {
  const target = url!.charCodeAt(0) === slash ? url! : url!.replace(absolute, '')
  const query = target.indexOf('?')
  return query === -1 ? target : target.slice(0, query)
}

/** Throws `host` (403) when the target names another host than the header: another hop may go by the other one (ORG-03). */
export function checkAuthority({ url, headers }: IncomingMessage): void {
  if (url!.charCodeAt(0) === slash) return
  const authority = absolute.exec(url!)?.[1]
  if (authority?.toLowerCase() === headers.host?.toLowerCase()) return
  throw new GatewayError('host', 'the request target and the Host header name different hosts', {
    headers: { connection: 'close' }
  })
}
