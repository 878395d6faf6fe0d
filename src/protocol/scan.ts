/**
 * One bounded pass over the bytes of a JSON text: the whole grammar (RFC 8259), nesting depth, UTF-8, and the spans of the
 * members that the gateway decides on: the top level, `params` and `params._meta`. No values are built; whatever is not
 * looked at stays the bytes it was.
 */
import { isUtf8 } from 'node:buffer'

/** Members of one object in the order written: `keys[i]` has its value at `spans[2 * i]` (start) to `spans[2 * i + 1]` (end). */
export interface Members {
  /** Offset of the opening brace. */
  readonly start: number
  /** Offset after the closing brace. */
  end: number
  readonly keys: string[]
  readonly spans: number[]
}

/** A scanned object: spans are offsets into the scanned bytes. `params` and `meta` are there when they are objects. */
export interface Scanned {
  readonly top: Members
  readonly params: Members | undefined
  readonly meta: Members | undefined
}

export type Scan =
  | { readonly kind: 'object'; readonly object: Scanned }
  /** `elements[i]` is undefined where an element is no object; `spans` as in {@link Members}. */
  | { readonly kind: 'array'; readonly elements: (Scanned | undefined)[]; readonly spans: number[] }
  | { readonly kind: 'other' }

/** Why a text was refused. `syntax` covers the grammar and UTF-8; `at` is a byte offset. */
export class ScanError extends Error {
  readonly reason: 'syntax' | 'depth' | 'duplicate'
  readonly at: number
  constructor(reason: 'syntax' | 'depth' | 'duplicate', at: number, message: string) {
    super(message)
    this.reason = reason
    this.at = at
  }
}

/** What a value may contribute: nothing, an array of messages, a message, its `params`, its `params._meta`. */
const nothing = 0
const batch = 1
const message = 2
const params = 3
const meta = 4
type Watch = typeof nothing | typeof batch | typeof message | typeof params | typeof meta

/** From this length on the rest of a string is read four bytes at a time. */
const wordwise = 32

export function scan(bytes: Buffer, maxDepth: number): Scan {
  if (!isUtf8(bytes)) throw new ScanError('syntax', 0, 'the text is not valid UTF-8')
  return new Scanner(bytes, maxDepth).run()
}

class Scanner {
  readonly #bytes: Buffer
  readonly #end: number
  readonly #maxDepth: number
  #view: DataView | undefined
  #at = 0
  #params: Members | undefined
  #meta: Members | undefined
  #elements: (Scanned | undefined)[] = []
  #elementSpans: number[] = []

  constructor(bytes: Buffer, maxDepth: number) {
    this.#bytes = bytes
    this.#end = bytes.length
    this.#maxDepth = maxDepth
  }

  run(): Scan {
    this.#space()
    const first = this.#bytes[this.#at]
    const top = this.#value(1, first === 0x5b ? batch : message)
    this.#space()
    if (this.#at !== this.#end) this.#fail('unexpected text after the JSON value')
    if (first === 0x5b) return { kind: 'array', elements: this.#elements, spans: this.#elementSpans }
    if (top === undefined) return { kind: 'other' }
    return { kind: 'object', object: { top, params: this.#params, meta: this.#meta } }
  }

  #fail(text: string): never {
    throw new ScanError('syntax', this.#at, this.#at >= this.#end ? 'the JSON text ends too early' : text)
  }

  #space(): void {
    const bytes = this.#bytes
    let at = this.#at
    for (;;) {
      const c = bytes[at]
      if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) break
      at++
    }
    this.#at = at
  }

  /** Reads one value; returns its members when it is a watched object. */
  #value(depth: number, watch: Watch): Members | undefined {
    const c = this.#bytes[this.#at]
    if (c === 0x22) this.#string()
    else if (c === 0x7b) return this.#object(depth, watch)
    else if (c === 0x5b) this.#array(depth, watch)
    else if (c === 0x74) this.#word(0x72, 0x75, 0x65, -1)
    else if (c === 0x66) this.#word(0x61, 0x6c, 0x73, 0x65)
    else if (c === 0x6e) this.#word(0x75, 0x6c, 0x6c, -1)
    else this.#number()
    return undefined
  }

  #word(a: number, b: number, c: number, d: number): void {
    const bytes = this.#bytes
    const at = this.#at
    if (bytes[at + 1] !== a || bytes[at + 2] !== b || bytes[at + 3] !== c) this.#fail('expected a JSON value')
    if (d !== -1 && bytes[at + 4] !== d) this.#fail('expected a JSON value')
    this.#at = at + (d === -1 ? 4 : 5)
  }

  #digits(at: number): number {
    const bytes = this.#bytes
    const from = at
    for (;;) {
      const c = bytes[at] as number
      if (!(c >= 0x30 && c <= 0x39)) break
      at++
    }
    if (at === from) {
      this.#at = at
      this.#fail('expected a JSON value')
    }
    return at
  }

  #number(): void {
    const bytes = this.#bytes
    let at = this.#at
    if (bytes[at] === 0x2d) at++
    at = bytes[at] === 0x30 ? at + 1 : this.#digits(at)
    if (bytes[at] === 0x2e) at = this.#digits(at + 1)
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      at++
      if (bytes[at] === 0x2b || bytes[at] === 0x2d) at++
      at = this.#digits(at)
    }
    this.#at = at
  }

  #string(): void {
    const bytes = this.#bytes
    let at = this.#at + 1
    let words = at + wordwise
    for (;;) {
      if (at >= words) {
        at = this.#plain(at)
        words = at + wordwise
      }
      const c = bytes[at] as number
      if (c === 0x22) break
      if (c === 0x5c) {
        at = this.#escape(at)
      } else if (c >= 0x20) {
        at++
      } else {
        this.#at = at
        this.#fail('a control character in a string')
      }
    }
    this.#at = at + 1
  }

  /** Skips whole words that hold no quote, no backslash and no control character. */
  #plain(at: number): number {
    this.#view ??= new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.byteLength)
    const view = this.#view
    const last = this.#end - 4
    while (at <= last) {
      const word = view.getInt32(at)
      const quote = word ^ 0x22222222
      const slash = word ^ 0x5c5c5c5c
      const found = ((word - 0x20202020) & ~word) | ((quote - 0x01010101) & ~quote) | ((slash - 0x01010101) & ~slash)
      if ((found & 0x80808080) !== 0) break
      at += 4
    }
    return at
  }

  #escape(at: number): number {
    const c = this.#bytes[at + 1]
    if (c === 0x75) {
      for (let i = at + 2; i < at + 6; i++) {
        const h = this.#bytes[i] as number
        if (!((h >= 0x30 && h <= 0x39) || (h >= 0x41 && h <= 0x46) || (h >= 0x61 && h <= 0x66))) {
          this.#at = i
          this.#fail('a bad \\u escape in a string')
        }
      }
      return at + 6
    }
    // " \ / b f n r t
    if (c === 0x22 || c === 0x5c || c === 0x2f || c === 0x62 || c === 0x66 || c === 0x6e || c === 0x72 || c === 0x74) {
      return at + 2
    }
    this.#at = at + 1
    this.#fail('a bad escape in a string')
  }

  #deeper(depth: number): void {
    if (depth > this.#maxDepth) {
      throw new ScanError('depth', this.#at, `the JSON text is nested deeper than ${this.#maxDepth} levels`)
    }
  }

  #array(depth: number, watch: Watch): void {
    this.#deeper(depth)
    this.#at++
    this.#space()
    if (this.#bytes[this.#at] === 0x5d) {
      this.#at++
      return
    }
    for (;;) {
      if (watch === batch) this.#element(depth)
      else this.#value(depth + 1, nothing)
      this.#space()
      const c = this.#bytes[this.#at]
      if (c === 0x5d) break
      if (c !== 0x2c) this.#fail('expected a comma or a closing bracket')
      this.#at++
      this.#space()
    }
    this.#at++
  }

  #element(depth: number): void {
    const start = this.#at
    this.#params = undefined
    this.#meta = undefined
    const top = this.#value(depth + 1, message)
    this.#elements.push(top === undefined ? undefined : { top, params: this.#params, meta: this.#meta })
    this.#elementSpans.push(start, this.#at)
  }

  #object(depth: number, watch: Watch): Members | undefined {
    this.#deeper(depth)
    const members: Members | undefined =
      watch === nothing ? undefined : { start: this.#at, end: 0, keys: [], spans: [] }
    this.#at++
    this.#space()
    if (this.#bytes[this.#at] !== 0x7d) {
      for (;;) {
        this.#member(depth, watch, members)
        this.#space()
        const c = this.#bytes[this.#at]
        if (c === 0x7d) break
        if (c !== 0x2c) this.#fail('expected a comma or a closing brace')
        this.#at++
        this.#space()
      }
    }
    this.#at++
    if (members !== undefined) members.end = this.#at
    return members
  }

  #member(depth: number, watch: Watch, members: Members | undefined): void {
    const keyStart = this.#at
    if (this.#bytes[keyStart] !== 0x22) this.#fail('expected a member name')
    this.#string()
    const keyEnd = this.#at
    this.#space()
    if (this.#bytes[this.#at] !== 0x3a) this.#fail('expected a colon')
    this.#at++
    this.#space()
    if (members === undefined) {
      this.#value(depth + 1, nothing)
      return
    }
    const key = decodeString(this.#bytes, keyStart, keyEnd)
    if (members.keys.includes(key))
      throw new ScanError('duplicate', keyStart, `the member "${shorten(key)}" stands twice`)
    if (members.keys.length >= maxMembers) {
      throw new ScanError('duplicate', keyStart, `more than ${maxMembers} members in the envelope`)
    }
    const start = this.#at
    if (watch === message && key === 'params') this.#params = this.#value(depth + 1, params)
    else if (watch === params && key === '_meta') this.#meta = this.#value(depth + 1, meta)
    else this.#value(depth + 1, nothing)
    members.keys.push(key)
    members.spans.push(start, this.#at)
  }
}

/** Members that one watched object may have: they are compared with each other. */
const maxMembers = 256

const shorten = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}...` : text)

/** The value of the JSON string whose quotes stand at `start` and before `end`. */
export function decodeString(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start + 1, end - 1)
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
}
