/**
 * One list out of those of several backends: config order, then each upstream's own. What an item is called is a splice in
 * its bytes, everything else stays what the upstream wrote (MUX-08). Made once and kept as the bytes of whole responses.
 */
import { createHash } from 'node:crypto'
import { setImmediate as otherWork } from 'node:timers/promises'
import type { Message } from '../protocol/message.ts'
import { type ListCursor, writeCursor } from './list-cursor.ts'
import type { Item, Kind } from './list-items.ts'

/** An item as clients see it. */
export interface Shown {
  readonly backend: string
  readonly item: Item
  /** Place among those of its backend. */
  readonly place: number
  /** In place of the upstream's; undefined: that one. */
  readonly id: string | undefined
  readonly description: string | undefined
}

export interface MergeOptions {
  readonly kind: Kind
  /** Items of one page. */
  readonly page: number
  /** What cursors are good for. */
  readonly generation: string
  /** Backends that are left out, for `_meta` of the result. */
  readonly missing: readonly string[]
}

/** `_meta` of a list that lacks some of the backends: their names. */
export const unavailableKey = 'dev.causeway/unavailable'

export class Merged {
  /** Of all items; the same when a client would see no difference. */
  readonly hash: string
  readonly #shown: readonly Shown[]
  readonly #options: MergeOptions
  /** By the place of their first item. */
  readonly #pages: ReadonlyMap<number, Message>

  constructor(shown: readonly Shown[], pages: ReadonlyMap<number, Message>, hash: string, options: MergeOptions) {
    this.#shown = shown
    this.#pages = pages
    this.hash = hash
    this.#options = options
  }

  /** The response, with the id 0, that has what follows the cursor. */
  page(cursor: ListCursor | undefined, order: readonly string[]): Message {
    const from = cursor === undefined ? 0 : this.#after(cursor, order)
    return this.#pages.get(from) ?? pageOf(this.#shown, from, this.#options, undefined)
  }

  #after({ backend, last, place }: ListCursor, order: readonly string[]): number {
    const at = this.#shown.findIndex(shown => shown.backend === backend && shown.item.id === last)
    if (at !== -1) return at + 1
    // The item is gone: those that stood behind it moved up.
    const rank = order.indexOf(backend)
    const next = this.#shown.findIndex(
      shown => order.indexOf(shown.backend) > rank || (shown.backend === backend && shown.place >= place)
    )
    return next === -1 ? this.#shown.length : next
  }
}

/** Pages are made one after another, so that calls get their turn. */
export async function merge(shown: readonly Shown[], options: MergeOptions): Promise<Merged> {
  const pages = new Map<number, Message>()
  const digest = createHash('sha1')
  for (let from = 0; from === 0 || from < shown.length; from += options.page) {
    if (from > 0) await otherWork()
    pages.set(
      from,
      pageOf(shown, from, options, items => digest.update(items))
    )
  }
  return new Merged(shown, pages, digest.digest('base64'), options)
}

const head = Buffer.from('{"jsonrpc":"2.0","id":0,"result":')
const idAt = head.indexOf('0,"result"')

function pageOf(
  shown: readonly Shown[],
  from: number,
  options: MergeOptions,
  seen: ((items: Buffer) => void) | undefined
): Message {
  const { kind, page, generation, missing } = options
  const part = shown.slice(from, from + page)
  const last = from + page < shown.length ? part.at(-1)! : undefined
  const cursor =
    last === undefined
      ? ''
      : `,"nextCursor":"${writeCursor(kind, generation, { backend: last.backend, last: last.item.id, place: last.place })}"`
  const meta = missing.length === 0 ? '' : `,"_meta":{"${unavailableKey}":${JSON.stringify(missing)}}`
  const opening = `{"${kind.key}":[`
  const closing = `]${cursor}${meta}}}`
  const pieces = piecesOf(part)
  let length = head.length + opening.length + closing.length
  for (const piece of pieces) length += sizeOf(piece)
  const source = Buffer.allocUnsafeSlow(length)
  let at = head.copy(source, 0)
  at += source.write(opening, at, 'latin1')
  const start = at
  for (const piece of pieces) {
    at += typeof piece === 'string' ? source.write(piece, at) : piece.bytes.copy(source, at, piece.start, piece.end)
  }
  seen?.(source.subarray(start, at))
  source.write(closing, at)
  return responseOf(source)
}

/** Bytes of an upstream, or a text in place of some. */
type Piece = string | Run

interface Run {
  readonly bytes: Buffer
  readonly start: number
  end: number
}

const sizeOf = (piece: Piece): number =>
  typeof piece === 'string' ? Buffer.byteLength(piece) : piece.end - piece.start

const comma = 0x2c

/** With a comma between the items. Those that stay what they are and stand side by side are one piece. */
function piecesOf(part: readonly Shown[]): Piece[] {
  const pieces: Piece[] = []
  let run: Run | undefined
  for (const shown of part) {
    const { item, id, description } = shown
    const same = id === undefined && description === undefined
    if (same && run?.bytes === item.bytes && item.start === run.end + 1 && item.bytes[run.end] === comma) {
      run.end = item.end
      continue
    }
    if (pieces.length > 0) pieces.push(',')
    run = same ? { bytes: item.bytes, start: item.start, end: item.end } : undefined
    if (run === undefined) pieces.push(...edited(shown))
    else pieces.push(run)
  }
  return pieces
}

function edited({ item, id, description }: Shown): Piece[] {
  const edits: { start: number; end: number; text: string }[] = []
  if (id !== undefined) edits.push({ start: item.idStart, end: item.idEnd, text: JSON.stringify(id) })
  if (description !== undefined && item.descriptionStart !== -1) {
    edits.push({ start: item.descriptionStart, end: item.descriptionEnd, text: JSON.stringify(description) })
  } else if (description !== undefined) {
    edits.push({ start: item.idEnd, end: item.idEnd, text: `,"description":${JSON.stringify(description)}` })
  }
  edits.sort((a, b) => a.start - b.start)
  const pieces: Piece[] = []
  let at = item.start
  for (const { start, end, text } of edits) {
    pieces.push({ bytes: item.bytes, start: at, end: start }, text)
    at = end
  }
  pieces.push({ bytes: item.bytes, start: at, end: item.end })
  return pieces
}

/** What reading it would find, without reading it: lists are large. */
function responseOf(source: Buffer): Message {
  const spans = [source.indexOf('"2.0"'), source.indexOf('"2.0"') + 5, idAt, idAt + 1, head.length, source.length - 1]
  const top = { start: 0, end: source.length, keys: ['jsonrpc', 'id', 'result'], spans }
  const scanned = { top, params: undefined, meta: undefined }
  return { kind: 'response', id: '0', method: undefined, source, scanned, edits: [] }
}
