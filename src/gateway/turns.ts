/** Things that must not overlap: with the same key they are done one after another, in the order they were asked for. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>()

  run<T>(key: string, act: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key)
    const turn = before === undefined ? act() : before.then(act)
    const over: Promise<void> = turn.then(noop, noop).then(() => {
      if (this.#last.get(key) === over) this.#last.delete(key)
    })
    this.#last.set(key, over)
    return turn
  }
}

const noop = (): void => {}
