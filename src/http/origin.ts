/** Which pages may use the gateway (basic/transports, "Security Warning"; R19, ORG-01). */
import { GatewayError } from '../errors.ts'
import { isLoopback } from './host.ts'

/** Throws `origin` (403) unless the origin is absent or allowed. */
export type CheckOrigin = (origin: string | undefined) => void

/**
 * `allowed`: `server.allowedOrigins`. Left out: pages of this machine when the gateway is bound to loopback, otherwise none.
 * Scheme, host and port are compared exactly, after the URL parser has put them in their one form.
 */
export function originCheck(allowed: readonly string[] | undefined, listenHost: string): CheckOrigin {
  const exact = new Set((allowed ?? []).map(normal))
  const loopback = allowed === undefined && isLoopback(listenHost)
  return origin => {
    if (origin === undefined) return
    if (serialized.test(origin) && URL.canParse(origin)) {
      const url = new URL(origin)
      if (exact.has(normal(origin)) || (loopback && isPage(url) && isLoopback(url.hostname))) return
    }
    throw new GatewayError('origin', 'the Origin is not allowed: see server.allowedOrigins')
  }
}

/** How an origin is written (RFC 6454, section 6.2): not `null`, no path, no list. */
const serialized = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\,]+$/i

/** Extensions and desktop programs have schemes of their own, for which the URL parser knows no origin. */
function normal(origin: string): string {
  const url = new URL(origin)
  return url.origin === 'null' ? `${url.protocol}//${url.host}`.toLowerCase() : url.origin
}

const isPage = ({ protocol }: URL): boolean => protocol === 'http:' || protocol === 'https:'
