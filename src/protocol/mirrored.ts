/** Whether the headers of a modern request say what its body says (2026-07-28 basic/transports/streamable-http, "Server Validation"). */
import { GatewayError } from '../errors.ts'
import { isCore } from './core.ts'
import { find } from './find.ts'
import { type Message, stringParam } from './message.ts'
import { nameParam } from './named-by.ts'
import { type ParamHeader, paramPrefix } from './param-headers.ts'
import { decodeHeader } from './sentinel.ts'

/** Names and values in turn, as they came. */
export type RawHeaders = readonly string[]

/** `Mcp-Method` and `Mcp-Name`. Throws `mismatch`. */
export function checkMirrored(request: Message, headers: RawHeaders): void {
  const method = headerOf(headers, 'mcp-method')
  if (method === undefined) refuse(request, 'Mcp-Method is missing')
  if (method!.trim() !== request.method) {
    refuse(request, `Mcp-Method is ${quote(method!)}, the method of the body is ${quote(request.method!)}`)
  }
  const param = nameParam(request.method!)
  const named = param === undefined ? undefined : stringParam(request, param)
  if (named === undefined) return
  const name = headerOf(headers, 'mcp-name')
  if (name === undefined) refuse(request, `Mcp-Name is missing: it is params.${param} of the body`)
  const decoded = decodeHeader(name!)
  if (decoded === undefined) refuse(request, 'Mcp-Name has characters that no header may have, or is badly encoded')
  if (decoded !== named) refuse(request, `Mcp-Name is ${quote(decoded!)}, params.${param} is ${quote(named)}`)
}

/**
 * `Mcp-Name` as it came, of a request whose method is not known here, so that its server can judge it; undefined for others.
 * Throws `mismatch` for one that is malformed.
 */
export function foreignName(request: Message, headers: RawHeaders): string | undefined {
  if (isCore(request.method!)) return undefined
  const name = headerOf(headers, 'mcp-name')
  if (name === undefined) return undefined
  if (decodeHeader(name) === undefined)
    refuse(request, 'Mcp-Name has characters that no header may have, or is badly encoded')
  return name.trim()
}

/** Whether any `Mcp-Param-*` header was sent. */
export const hasParamHeaders = (headers: RawHeaders): boolean =>
  headers.some((name, i) => i % 2 === 0 && name.length > paramPrefix.length && isParam(name))

const isParam = (name: string): boolean => name.slice(0, paramPrefix.length).toLowerCase() === paramPrefix

/** The headers that the tool's annotations ask for; whatever else is called `Mcp-Param-*` is not looked at. Throws `mismatch`. */
export function checkParams(request: Message, annotations: readonly ParamHeader[], headers: RawHeaders): void {
  for (const { name, path, type } of annotations) {
    const title = `Mcp-Param-${name}`
    const sent = headerOf(headers, `${paramPrefix}${name.toLowerCase()}`)
    const json = argument(request, path)
    if (json === undefined) {
      if (sent !== undefined) refuse(request, `${title} is sent, the argument is not`)
      continue
    }
    if (sent === undefined) refuse(request, `${title} is missing`)
    const decoded = decodeHeader(sent!)
    if (decoded === undefined) refuse(request, `${title} has characters that no header may have, or is badly encoded`)
    if (!isSame(decoded!, json, type)) refuse(request, `${title} is not the value of the argument ${path.join('.')}`)
  }
}

/** JSON text of the argument at this path; undefined when there is none that a header can carry. */
function argument({ source, scanned: { params } }: Message, path: readonly string[]): string | undefined {
  const i = params === undefined ? -1 : params.keys.indexOf('arguments')
  const span = i === -1 ? undefined : find(source, params!.spans[2 * i]!, path)
  const json = span && source.toString('utf8', span.start, span.end)
  return json === undefined || /^[n[{]/.test(json) ? undefined : json
}

function isSame(header: string, json: string, type: ParamHeader['type']): boolean {
  const value: unknown = JSON.parse(json)
  if (typeof value === 'string') return header === value
  if (header === json) return true
  return type === 'integer' && decimal.test(header) && Number.isSafeInteger(value) && Number(header) === value
}

const decimal = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

/** Undefined when absent. Throws `mismatch` for one that stands twice. */
function headerOf(headers: RawHeaders, name: string): string | undefined {
  let found: string | undefined
  for (let i = 0; i < headers.length; i += 2) {
    const written = headers[i]!
    if (written.length !== name.length || written.toLowerCase() !== name) continue
    if (found !== undefined) throw new GatewayError('mismatch', `Header mismatch: ${name} stands twice`)
    found = headers[i + 1]!
  }
  return found
}

const quote = (text: string): string => JSON.stringify(text.slice(0, 80))

function refuse({ id }: Message, text: string): never {
  throw new GatewayError('mismatch', `Header mismatch: ${text}`, { id })
}
