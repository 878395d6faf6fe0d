/** `Content-Type` and `Accept` as RFC 9110 has them (8.3, 12.5.1; HDR-01, HDR-03). */
import { GatewayError } from '../errors.ts'

export interface Accepts {
  readonly json: boolean
  readonly sse: boolean
}

const both: Accepts = { json: true, sse: true }

/** What the clients of the SDKs send: no parsing. */
const usual = 'application/json, text/event-stream'

/** What `Accept` admits. Absent or empty: everything. Quality 0 excludes; the most specific range decides. */
export function accepts(header: string | undefined): Accepts {
  if (header === undefined || header === usual || header.trim() === '') return both
  const ranges = header.split(',').map(parseRange)
  return { json: admits(ranges, 'application', 'json'), sse: admits(ranges, 'text', 'event-stream') }
}

interface Range {
  readonly type: string
  readonly subtype: string
  readonly quality: number
}

function parseRange(text: string): Range {
  const [range = '', ...parameters] = text.split(';')
  const [type = '', subtype = ''] = range.trim().toLowerCase().split('/')
  let quality = 1
  for (const parameter of parameters) {
    const found = /^\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*$/i.exec(parameter)
    if (found !== null) quality = Number(found[1])
  }
  return { type, subtype, quality }
}

function admits(ranges: readonly Range[], type: string, subtype: string): boolean {
  for (const [t, s] of [
    [type, subtype],
    [type, '*'],
    ['*', '*']
  ]) {
    const found = ranges.filter(range => range.type === t && range.subtype === s)
    if (found.length > 0) return found.some(range => range.quality > 0)
  }
  return false
}

/** Throws `media_type` (415) unless it is JSON in UTF-8. */
export function checkContentType(header: string | undefined): void {
  if (header === 'application/json') return
  const [type = '', ...parameters] = (header ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/json') {
    throw new GatewayError('media_type', 'Content-Type must be application/json')
  }
  for (const parameter of parameters) {
    const found = /^\s*charset\s*=\s*"?([^"]*?)"?\s*$/i.exec(parameter)
    if (found !== null && !/^utf-?8$/i.test(found[1]!))
      throw new GatewayError('media_type', 'the charset must be utf-8')
  }
}
