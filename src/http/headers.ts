/**
 * Headers that must stand once, read from the raw list before anything is decided on them: Node merges, joins or drops
 * repeats silently, and another hop may choose the other one (decisions: "Repeated or comma-joined singleton headers").
 */
import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../errors.ts'

type Refusal = 'origin' | 'mismatch' | 'header'

const singletons: Readonly<Record<string, Refusal>> = {
  origin: 'origin',
  'mcp-protocol-version': 'mismatch',
  'mcp-method': 'mismatch',
  'mcp-name': 'mismatch',
  host: 'header',
  authorization: 'header',
  'content-type': 'header',
  'mcp-session-id': 'header',
  'last-event-id': 'header'
}

/** Those that no value of can hold a comma: joined values were two headers somewhere on the way. */
const noComma = new Set(['origin', 'mcp-protocol-version', 'mcp-method', 'mcp-session-id'])

export function checkHeaders(request: IncomingMessage): void {
  const raw = request.rawHeaders
  let seen: Set<string> | undefined
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase()
    const refusal = singletons[name]
    if (refusal === undefined) continue
    seen ??= new Set()
    if (seen.has(name)) refuse(refusal, name, 'stands twice')
    seen.add(name)
    if (noComma.has(name) && raw[i + 1]!.includes(',')) refuse(refusal, name, 'has more than one value')
  }
  checkFraming(request)
}

/** What Node lets through and no backend may see: bodies framed twice over, or in codings that nobody here undoes. */
function checkFraming(request: IncomingMessage): void {
  const { 'transfer-encoding': coding, 'content-encoding': encoding } = request.headers
  if (coding !== undefined && (request.httpVersionMinor === 0 || coding.trim().toLowerCase() !== 'chunked')) {
    refuse('header', 'transfer-encoding', 'must be chunked')
  }
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    throw new GatewayError('media_type', 'the body must not be encoded')
  }
}

function refuse(code: Refusal, name: string, what: string): never {
  throw new GatewayError(code, `the header ${name} ${what}`, { headers: { connection: 'close' } })
}
