/** Whose code is on the stack of a thread, in memory that another thread reads while the first is blocked. */

const most = 256

export const markerBuffer = (): SharedArrayBuffer => new SharedArrayBuffer(4 + most)

export class Marker {
  readonly #length: Int32Array
  readonly #bytes: Buffer

  constructor(buffer: SharedArrayBuffer) {
    this.#length = new Int32Array(buffer, 0, 1)
    this.#bytes = Buffer.from(buffer, 4, most)
  }

  enter(name: string): void {
    Atomics.store(this.#length, 0, this.#bytes.write(name))
  }

  leave(): void {
    Atomics.store(this.#length, 0, 0)
  }

  /** Undefined while no handler is on the stack. */
  get name(): string | undefined {
    const length = Atomics.load(this.#length, 0)
    return length === 0 ? undefined : this.#bytes.toString('utf8', 0, length)
  }
}
