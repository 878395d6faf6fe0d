/** The headers that mirror a body, written from what is sent (2026-07-28 basic/transports/streamable-http, "Request Metadata"). */
import { methodHeader, nameHeader } from '../../protocol/headers.ts'
import { type Message, stringParam, textParam } from '../../protocol/message.ts'
import { nameParam } from '../../protocol/named-by.ts'
import { headerValue, type ParamHeader, paramPrefix } from '../../protocol/param-headers.ts'
import { encodeHeader } from '../../protocol/sentinel.ts'

/**
 * `request` is settled: what is read of it is what is sent. `named`: what is said of a method that is not known here. Flat:
 * name, value, name, value.
 */
export function mirrored(request: Message, params: readonly ParamHeader[], named?: string): string[] {
  const method = request.method!
  const headers = [methodHeader, encodeHeader(method)]
  const key = nameParam(method)
  const name = key === undefined ? undefined : stringParam(request, key)
  if (name !== undefined) headers.push(nameHeader, encodeHeader(name))
  else if (named !== undefined) headers.push(nameHeader, named)
  if (params.length === 0) return headers
  const args = textParam(request, 'arguments')
  const values: unknown = args === undefined ? undefined : JSON.parse(args)
  for (const param of params) {
    const value = headerValue(param, values)
    if (value !== undefined) headers.push(paramPrefix + param.name.toLowerCase(), encodeHeader(value))
  }
  return headers
}
