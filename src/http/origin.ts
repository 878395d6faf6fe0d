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
  const exact = new Set((allowed ?? []).map(origin => new URL(origin).origin))
  const loopback = allowed === undefined && isLoopback(listenHost)
  return origin => {
    if (origin === undefined) return
    const url = parseOrigin(origin)
    if (url !== undefined && (exact.has(url.origin) || (loopback && isLoopback(url.hostname)))) return
    throw new GatewayError('origin', 'the Origin is not allowed: see server.allowedOrigins')
  }
}

/** Undefined for `null` and whatever is no serialized origin (RFC 6454, section 6.2). */
function parseOrigin(origin: string): URL | undefined {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\]+$/i.test(origin) || !URL.canParse(origin)) return undefined
  const url = new URL(origin)
  return url.origin === 'null' ? undefined : url
}
