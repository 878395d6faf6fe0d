/** A clock that stands still until it is told to move. */
export class Clock {
  #ms = 1_000_000
  readonly now = (): number => this.#ms
  advance(ms: number): void {
    this.#ms += ms
  }
}
