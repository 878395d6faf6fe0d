/**
 * Lines by bytes: they end in LF and nowhere else (2025-11-25 basic/transports, "stdio"); a CR before it is dropped. A line
 * is joined once, so that a long one costs what its length says. Lines are copies: none keeps a chunk alive.
 */
import { endBytes } from '../answered-id.ts'
import { endless } from '../intake.ts'

export interface LineEvents {
  /** A line that is not empty. False: `push` stops there until `resume`. */
  line(bytes: Buffer): boolean
  /** The end of a line that was larger than the bound: its first and last bytes. */
  tooLarge(head: Buffer, tail: Buffer): void
  /** A line larger than {@link endless} times the bound. Nothing more is told. */
  endless(head: Buffer): void
}

const lf = 0x0a
const cr = 0x0d
const empty = Buffer.alloc(0)

export class Lines {
  readonly #events: LineEvents
  readonly #limit: number
  /** The unfinished line. */
  #pieces: Buffer[] = []
  #bytes = 0
  /** First and last bytes of a line over the bound. */
  #head: Buffer | undefined
  #tail: Buffer = empty
  /** What stands behind the line that stopped `push`. */
  #rest: Buffer | undefined
  #dead = false

  constructor(events: LineEvents, limit: number) {
    this.#events = events
    this.#limit = limit
  }

  /** False: nothing more until `resume` says true. */
  push(chunk: Buffer): boolean {
    if (this.#rest !== undefined) {
      this.#rest = Buffer.concat([this.#rest, chunk])
      return false
    }
    let at = 0
    while (!this.#dead) {
      const end = chunk.indexOf(lf, at)
      if (end === -1) {
        if (at < chunk.length) this.#keep(chunk.subarray(at))
        return true
      }
      const more = this.#finish(chunk.subarray(at, end))
      at = end + 1
      if (!more && at < chunk.length) {
        this.#rest = chunk.subarray(at)
        return false
      }
      if (!more) return false
    }
    return true
  }

  resume(): boolean {
    const rest = this.#rest
    this.#rest = undefined
    return rest === undefined || this.push(rest)
  }

  /** The input is over: what is left is told, be the reader ready or not. */
  end(): void {
    while (this.#rest !== undefined) this.resume()
    if (this.#bytes > 0 && !this.#dead) this.#finish(empty)
    this.#dead = true
  }

  #keep(piece: Buffer): void {
    this.#bytes += piece.length
    if (this.#bytes <= this.#limit) {
      this.#pieces.push(piece)
      return
    }
    if (this.#head === undefined) {
      this.#head = firstBytes([...this.#pieces, piece])
      this.#pieces = []
    }
    this.#tail = lastBytes(this.#tail, piece)
    if (this.#bytes <= this.#limit * endless) return
    this.#dead = true
    this.#events.endless(this.#head)
  }

  #finish(piece: Buffer): boolean {
    if (this.#bytes + piece.length > this.#limit) {
      this.#keep(piece)
      const head = this.#head
      const tail = this.#tail
      this.#head = undefined
      this.#tail = empty
      this.#bytes = 0
      if (!this.#dead) this.#events.tooLarge(head!, tail)
      return true
    }
    const line = this.#bytes === 0 ? piece : Buffer.concat([...this.#pieces, piece])
    const joined = this.#bytes > 0
    this.#pieces = []
    this.#bytes = 0
    const length = line.at(-1) === cr ? line.length - 1 : line.length
    if (length === 0) return true
    return this.#events.line(joined ? line.subarray(0, length) : Buffer.from(line.subarray(0, length)))
  }
}

function firstBytes(pieces: readonly Buffer[]): Buffer {
  const whole = Buffer.concat(
    pieces,
    Math.min(
      endBytes,
      pieces.reduce((sum, piece) => sum + piece.length, 0)
    )
  )
  return whole
}

function lastBytes(before: Buffer, piece: Buffer): Buffer {
  if (piece.length >= endBytes) return Buffer.from(piece.subarray(piece.length - endBytes))
  const joined = Buffer.concat([before, piece])
  return joined.length > endBytes ? Buffer.from(joined.subarray(joined.length - endBytes)) : joined
}
