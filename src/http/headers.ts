/**
 * Headers that must stand once, read from the raw list before anything is decided on them: Node merges, joins or drops
 * repeats silently, and another hop may choose the other one (decisions: "Repeated or comma-joined singleton headers").
 */
import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../errors.ts'

type Refusal = 'origin' | 'mismatch' | 'header'

interface Singleton {
  readonly name: string
  readonly refusal: Refusal
  readonly bit: number
  /** What two values joined into one look like; undefined where a comma may be part of a single value. */
  readonly joined: RegExp | undefined
}

const comma = /,/
const singletons: readonly Singleton[] = (
  [
    ['origin', 'origin', comma],
    ['mcp-protocol-version', 'mismatch', comma],
    ['mcp-method', 'mismatch', comma],
    ['mcp-name', 'mismatch', undefined],
    ['host', 'header', comma],
    ['authorization', 'header', /^\s*bearer\s[^,]*,/i],
    ['content-type', 'header', /^[^"]*,/],
    ['mcp-session-id', 'header', comma],
    ['last-event-id', 'header', comma]
  ] as const
).map(([name, refusal, joined], i) => ({ name, refusal, joined, bit: 1 << i }))

/** By every spelling that was seen, so that names need not be put in lower case each time. */
const spellings = new Map<string, Singleton | undefined>()

/** A client can spell as it likes. */
const maxSpellings = 1_000

function singletonOf(name: string): Singleton | undefined {
  if (spellings.has(name)) return spellings.get(name)
  const lower = name.toLowerCase()
  const found = singletons.find(singleton => singleton.name === lower)
  if (spellings.size < maxSpellings) spellings.set(name, found)
  return found
}

/** Node 22 cuts a longer list off instead of refusing it. */
export const maxHeaders = 100

/** Throws `origin` (403), `mismatch` or `header` (400), `media_type` (415). */
export function checkHeaders(request: IncomingMessage): void {
  const raw = request.rawHeaders
  if (raw.length > 2 * maxHeaders) refuse('header', `there are more than ${maxHeaders} headers`)
  let seen = 0
  for (let i = 0; i < raw.length; i += 2) {
    const singleton = singletonOf(raw[i]!)
    if (singleton === undefined) continue
    const { name, refusal, bit, joined } = singleton
    if ((seen & bit) !== 0) refuse(refusal, `the header ${name} stands twice`)
    seen |= bit
    if (joined?.test(raw[i + 1]!) === true) refuse(refusal, `the header ${name} has more than one value`)
  }
  checkFraming(request)
}

/** What Node lets through and no backend may see: bodies framed twice over, not at all, or in codings that nobody here undoes (H1, H13). */
function checkFraming({ method, headers, httpVersionMajor, httpVersionMinor }: IncomingMessage): void {
  const { 'transfer-encoding': coding, 'content-length': length, 'content-encoding': encoding } = headers
  if (httpVersionMajor !== 1) refuse('header', 'the version must be HTTP/1.1 or HTTP/1.0')
  if (method === 'POST' && coding === undefined && length === undefined) {
    refuse('header', 'the header content-length is missing')
  }
  if (coding !== undefined && (httpVersionMinor === 0 || coding.trim().toLowerCase() !== 'chunked')) {
    refuse('header', 'the header transfer-encoding must be chunked')
  }
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    throw new GatewayError('media_type', 'the body must not be encoded')
  }
}

/** The connection ends: what follows on it may be part of something else to another hop. */
function refuse(code: Refusal, text: string): never {
  throw new GatewayError(code, text, { headers: { connection: 'close' } })
}
