/**
 * Gathers lines and hands them on in pieces: when there is enough, or half a second after the first. sonic-boom (4.2)
 * measures everything that waits at every write, so its own `minLength` costs more per line than making the line does.
 */

export interface Sink {
  write(lines: string): void
}

/** Characters handed on at once, and how long the first line of a quiet time waits, in milliseconds. */
const enough = 16_384
const patience = 500

export class Batch implements Sink {
  readonly #sink: Sink
  #waiting = ''
  #timer: NodeJS.Timeout | undefined

  constructor(sink: Sink) {
    this.#sink = sink
  }

  write(line: string): void {
    this.#waiting += line
    if (this.#waiting.length >= enough) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), patience).unref()
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#waiting === '') return
    const lines = this.#waiting
    this.#waiting = ''
    this.#sink.write(lines)
  }
}
