/**
 * Server-Sent Events read by bytes (HTML, "Server-sent events", 9.2.5 and 9.2.6): any split of the input gives the same
 * events, in time linear in its length. Lines end in CR, LF or CRLF and nowhere else; data stays bytes.
 */

/** What a parser tells. Called while `push` runs; must not throw. */
export interface Events {
  /**
   * One event with data: its `data` lines joined by LF, a view of what was pushed where it came in one piece. `type` is
   * `message` when the event named none.
   */
  event(data: Buffer, type: string): void
  /** The last event id after an event, or after a block that had an id and no data; '' when it was reset. */
  id(id: string): void
  /** `retry`: milliseconds, as sent. */
  retry(ms: number): void
  /** The event is larger than the bound. `head`: how its data begins. Without `skipped` nothing more is told. */
  tooLarge(head: Buffer): void
  /** The end of an event that was too large; the next are told again. `tail`: its last bytes, line ends left out. */
  skipped?(tail: Buffer): void
}

const lf = 0x0a
const cr = 0x0d
const bom = [0xef, 0xbb, 0xbf]
const empty = Buffer.alloc(0)

/** Of the longest field that counts: `data: ` before a value of the largest size. */
const fieldBytes = 6

/** Of the ends of an event that is too large. */
const endBytes = 256

/** `data` lines of one event. */
const maxLines = 100_000

export class SseParser {
  readonly #events: Events
  readonly #limit: number
  /** The beginning of a line whose end has not come yet: the first `#partialBytes` of a buffer that doubles. */
  #partial = empty
  #partialBytes = 0
  #data: Buffer[] = []
  #dataBytes = 0
  #type = ''
  /** Set by the current block. */
  #id: string | undefined
  /** How much of a byte order mark was seen; -1 once it cannot come any more. */
  #bom = 0
  #afterCr = false
  #dead = false
  /** Within an event that is too large: its last bytes so far. `#partialBytes` only says whether the line has any. */
  #tail: Buffer | undefined

  /** `limit`: bytes that one event may have, its unfinished line included. */
  constructor(events: Events, limit: number) {
    this.#events = events
    this.#limit = limit
  }

  push(chunk: Buffer): void {
    let at = this.#bom === -1 ? 0 : this.#skipBom(chunk)
    if (this.#afterCr && at < chunk.length) {
      this.#afterCr = false
      if (chunk[at] === lf) at++
    }
    let nextCr = chunk.indexOf(cr, at)
    while (at < chunk.length && !this.#dead) {
      const nextLf = chunk.indexOf(lf, at)
      if (nextCr !== -1 && nextCr < at) nextCr = chunk.indexOf(cr, at)
      const end = nextLf === -1 || (nextCr !== -1 && nextCr < nextLf) ? nextCr : nextLf
      if (end === -1) {
        this.#keep(chunk.subarray(at))
        return
      }
      this.#line(this.#whole(chunk, at, end))
      at = end + 1
      if (end !== nextCr) continue
      if (at === chunk.length) this.#afterCr = true
      else if (chunk[at] === lf) at++
    }
  }

  #skipBom(chunk: Buffer): number {
    let at = 0
    while (at < chunk.length) {
      if (chunk[at] !== bom[this.#bom]) {
        // What looked like the mark was the beginning of a line.
        if (this.#bom > 0) this.#keep(Buffer.from(bom.slice(0, this.#bom)))
        this.#bom = -1
        return at
      }
      at++
      if (++this.#bom === bom.length) {
        this.#bom = -1
        return at
      }
    }
    return at
  }

  #keep(piece: Buffer): void {
    if (this.#tail !== undefined) {
      this.#tail = lastBytes(this.#tail, piece)
      this.#partialBytes = 1
      return
    }
    const size = this.#partialBytes + piece.length
    if (size + this.#dataBytes > this.#limit + fieldBytes) {
      this.#overflow(piece)
      this.#partialBytes = 1
      return
    }
    if (size > this.#partial.length) {
      const larger = Buffer.allocUnsafeSlow(
        Math.max(size, Math.min(2 * this.#partial.length, this.#limit + fieldBytes), 1024)
      )
      this.#partial.copy(larger, 0, 0, this.#partialBytes)
      this.#partial = larger
    }
    piece.copy(this.#partial, this.#partialBytes)
    this.#partialBytes = size
  }

  #whole(chunk: Buffer, start: number, end: number): Buffer {
    if (this.#partialBytes === 0 && this.#tail === undefined) return chunk.subarray(start, end)
    if (end > start) this.#keep(chunk.subarray(start, end))
    const bytes = this.#partialBytes
    this.#partialBytes = 0
    if (this.#tail !== undefined) return bytes === 0 ? empty : this.#tail
    const line = this.#partial.subarray(0, bytes)
    this.#partial = empty
    return line
  }

  /** `last`: the bytes that were too many. */
  #overflow(last: Buffer): void {
    const begun = this.#partial.subarray(0, this.#partialBytes)
    const first = this.#data[0] ?? dataOf(begun.length > 0 ? begun : last)
    const head = Buffer.from(first.subarray(0, endBytes))
    this.#dead = this.#events.skipped === undefined
    this.#tail = lastBytes(begun, last)
    this.#partial = empty
    this.#data = []
    this.#dataBytes = 0
    this.#events.tooLarge(head)
  }

  #skipped(tail: Buffer): void {
    this.#tail = undefined
    this.#type = ''
    this.#id = undefined
    this.#events.skipped?.(tail)
  }

  #line(line: Buffer): void {
    if (this.#dead) return
    if (line.length === 0) {
      if (this.#tail === undefined) this.#dispatch()
      else this.#skipped(this.#tail)
      return
    }
    if (this.#tail !== undefined) return
    const colon = line.indexOf(0x3a)
    if (colon === 0) return
    const nameEnd = colon === -1 ? line.length : colon
    // No field has a longer name; the rest is ignored without looking.
    if (nameEnd > 5) return
    const valueStart = colon === -1 ? line.length : line[colon + 1] === 0x20 ? colon + 2 : colon + 1
    switch (line.toString('latin1', 0, nameEnd)) {
      case 'data':
        this.#datum(valueStart === line.length ? empty : line.subarray(valueStart))
        break
      case 'event':
        this.#type = line.toString('utf8', valueStart)
        break
      case 'id':
        if (line.indexOf(0, valueStart) === -1) this.#id = line.toString('utf8', valueStart)
        break
      case 'retry':
        this.#retry(line.toString('latin1', valueStart))
        break
    }
  }

  #datum(value: Buffer): void {
    this.#dataBytes += value.length + 1
    if (this.#dataBytes > this.#limit + 1 || this.#data.length === maxLines) this.#overflow(value)
    else this.#data.push(value)
  }

  #retry(text: string): void {
    if (/^\d{1,15}$/.test(text)) this.#events.retry(Number(text))
  }

  #dispatch(): void {
    const data = this.#data
    const type = this.#type
    const id = this.#id
    const bytes = this.#dataBytes
    this.#id = undefined
    this.#type = ''
    if (data.length > 0) {
      this.#data = []
      this.#dataBytes = 0
      if (bytes > data.length) this.#events.event(data.length === 1 ? data[0]! : join(data), type || 'message')
    }
    if (id !== undefined) this.#events.id(id)
  }
}

const separator = Buffer.from('\n')

function join(lines: readonly Buffer[]): Buffer {
  const pieces: Buffer[] = []
  for (const line of lines) {
    if (pieces.length > 0) pieces.push(separator)
    pieces.push(line)
  }
  return Buffer.concat(pieces)
}

/** The value of a line that has a `data` field; other lines as they are. */
function dataOf(line: Buffer): Buffer {
  if (line.toString('latin1', 0, 5) !== 'data:') return line
  return line.subarray(line[5] === 0x20 ? 6 : 5)
}

function lastBytes(before: Buffer, more: Buffer): Buffer {
  const joined = more.length >= endBytes ? more : Buffer.concat([before.subarray(-endBytes), more])
  return Buffer.from(joined.subarray(-endBytes))
}
