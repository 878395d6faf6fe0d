/** The HTTP methods of an endpoint (basic/transports, "Streamable HTTP"); OPTIONS is for pages that ask first. */
import { GatewayError } from '../errors.ts'

export const methods = ['GET', 'POST', 'DELETE', 'OPTIONS'] as const

const allow = methods.join(', ')

/** Throws `http_method` (405) for all but POST, GET and DELETE: preflights were answered before. */
export function checkMethod(method: string): void {
  if (method === 'POST' || method === 'GET' || method === 'DELETE') return
  throw new GatewayError('http_method', `${method} has no meaning here`, { headers: { allow } })
}
