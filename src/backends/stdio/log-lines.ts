/** What a child writes on stderr, as notices: bounded lines, so many a second. It is drained whatever happens to it. */
import { facts } from '../../telemetry/events.ts'

const maxBytes = 2_000
const perSecond = 20

export class LogLines {
  readonly #backend: string
  readonly #now: () => number
  #partial = ''
  #cut = false
  #second = 0
  #count = 0
  #suppressed = 0

  constructor(backend: string, now: () => number = () => performance.now()) {
    this.#backend = backend
    this.#now = now
  }

  push(chunk: Buffer): void {
    let at = 0
    for (;;) {
      const end = chunk.indexOf(0x0a, at)
      this.#keep(chunk.subarray(at, end === -1 ? chunk.length : end))
      if (end === -1) return
      this.#flush()
      at = end + 1
    }
  }

  end(): void {
    this.#flush()
    this.#report()
  }

  #keep(piece: Buffer): void {
    const room = maxBytes - this.#partial.length
    if (piece.length > room) this.#cut = true
    if (room > 0) this.#partial += piece.toString('latin1', 0, room)
  }

  #flush(): void {
    const text = Buffer.from(this.#partial, 'latin1').toString().trimEnd()
    const cut = this.#cut
    this.#partial = ''
    this.#cut = false
    if (text === '' || !this.#admit()) return
    facts.notice.publish({ level: 'info', backend: this.#backend, text: cut ? `${text}...` : text })
  }

  #admit(): boolean {
    const second = Math.floor(this.#now() / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#count = 0
      this.#report()
    }
    if (this.#count === perSecond) {
      this.#suppressed++
      return false
    }
    this.#count++
    return true
  }

  #report(): void {
    if (this.#suppressed === 0) return
    facts.notice.publish({
      level: 'info',
      backend: this.#backend,
      text: `${this.#suppressed} more lines on stderr were left out`
    })
    this.#suppressed = 0
  }
}
