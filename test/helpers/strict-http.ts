/**
 * HTTP/1 requests as RFC 9112 has them and no other way: the judge of what a client's bytes say, and of what the gateway
 * sends. Whatever two readers could take differently is an error here.
 */

export interface StrictRequest {
  readonly method: string
  readonly target: string
  readonly version: string
  /** Names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
  readonly chunked: boolean
}

export interface StrictRead {
  readonly requests: readonly StrictRequest[]
  /** How the bytes end: after a request, within one, or in something that is none. */
  readonly end: 'whole' | 'partial' | 'bad'
  /** What is bad. */
  readonly why: string
  /** Bytes that the requests take. */
  readonly length: number
}

/** More blanks than one, protocols of the same form, line ends before it, and no Host are no second way to read it. */
const line = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) +([\x21-\x7e]+) +(?:HTTP|RTSP|ICE)\/(1\.[01])$/
const field =
  /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*((?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?)[ \t]*$/
const size = /^([0-9A-Fa-f]{1,15})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?$/

class Bad extends Error {}
class Partial extends Error {}

export function readRequests(bytes: Buffer): StrictRead {
  const requests: StrictRequest[] = []
  let at = 0
  try {
    for (;;) {
      while (bytes[at] === 0x0d || bytes[at] === 0x0a) at++
      if (at === bytes.length) return { requests, end: 'whole', why: '', length: at }
      const [request, next] = readRequest(bytes, at)
      requests.push(request)
      at = next
    }
  } catch (error) {
    if (error instanceof Partial) return { requests, end: 'partial', why: '', length: at }
    if (error instanceof Bad) return { requests, end: 'bad', why: error.message, length: at }
    throw error
  }
}

function readRequest(bytes: Buffer, start: number): [StrictRequest, number] {
  const [first, afterLine] = readLine(bytes, start)
  const [, method, target, version] = line.exec(first) ?? fail(`request line ${first}`)
  const [headers, afterHead] = readFields(bytes, afterLine)
  const valuesOf = (name: string): string[] => headers.filter(([key]) => key === name).map(([, value]) => value)
  if (valuesOf('host').length > 1) fail('two hosts')
  const lengths = valuesOf('content-length')
  const codings = valuesOf('transfer-encoding')
  if (lengths.length + codings.length > 1) fail('framed twice')
  const [coding] = codings
  const [length] = lengths
  if (coding !== undefined && (version === '1.0' || coding.toLowerCase() !== 'chunked')) fail(`coding ${coding}`)
  if (length !== undefined && !/^\d{1,15}$/.test(length)) fail(`length ${length}`)
  const [body, next] = coding === undefined ? take(bytes, afterHead, Number(length ?? 0)) : chunks(bytes, afterHead)
  return [{ method: method!, target: target!, version: version!, headers, body, chunked: coding !== undefined }, next]
}

/** Fields up to the empty line. */
function readFields(bytes: Buffer, start: number): [(readonly [string, string])[], number] {
  const fields: (readonly [string, string])[] = []
  let at = start
  for (;;) {
    const [text, next] = readLine(bytes, at)
    at = next
    if (text === '') return [fields, at]
    const [, name, value] = field.exec(text) ?? fail(`field ${text}`)
    fields.push([name!.toLowerCase(), value!])
  }
}

function chunks(bytes: Buffer, start: number): [Buffer, number] {
  const pieces: Buffer[] = []
  let at = start
  for (;;) {
    const [text, next] = readLine(bytes, at)
    const [, digits] = size.exec(text) ?? fail(`chunk size ${text}`)
    const length = Number.parseInt(digits!, 16)
    if (length === 0) {
      const [, end] = readFields(bytes, next)
      return [Buffer.concat(pieces), end]
    }
    const [piece, end] = take(bytes, next, length)
    pieces.push(piece)
    const [rest, after] = readLine(bytes, end)
    if (rest !== '') fail('chunk data')
    at = after
  }
}

function take(bytes: Buffer, at: number, length: number): [Buffer, number] {
  if (at + length > bytes.length) throw new Partial()
  return [bytes.subarray(at, at + length), at + length]
}

/** A line without its CRLF: a CR or LF anywhere else is bad at once. */
function readLine(bytes: Buffer, start: number): [string, number] {
  for (let at = start; at < bytes.length; at++) {
    if (bytes[at] === 0x0a) fail('a bare LF')
    if (bytes[at] !== 0x0d) continue
    if (at + 1 === bytes.length) break
    if (bytes[at + 1] !== 0x0a) fail('a bare CR')
    return [bytes.toString('latin1', start, at), at + 2]
  }
  throw new Partial()
}

function fail(why: string): never {
  throw new Bad(why)
}
