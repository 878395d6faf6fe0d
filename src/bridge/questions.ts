/** What an upstream asks during one exchange, until it is answered; and when it is time to ask the client (decisions: "When `input_required` is returned"). */
import { keyOfAsk } from '../backends/ask-id.ts'
import { type Message, sameId } from '../protocol/message.ts'
import { type Input, inputOf } from './inputs.ts'

/** Milliseconds: nothing came for so long since the last question, and at most since the first. */
const quietMs = 15
const gatherMs = 250
/** Questions of one exchange that may be open. */
export const maxOpen = 64

export class Questions {
  /** By their keys; told to the client or not yet. */
  readonly open = new Map<string, Input>()
  readonly #gathered: () => void
  readonly #isNamed: boolean
  #count = 0
  #timer: NodeJS.Timeout | undefined
  #since = 0

  /** `gathered`: nothing more is to be expected for now. Must not throw. `isNamed`: questions come with their keys. */
  constructor(gathered: () => void, isNamed: boolean) {
    this.#gathered = gathered
    this.#isNamed = isNamed
  }

  get isFull(): boolean {
    return this.open.size >= maxOpen
  }

  add(asked: Message): void {
    const input = inputOf(asked, this.#isNamed ? keyOfAsk(asked.id!) : `input-${++this.#count}`)
    this.open.set(input.key, input)
  }

  /** The upstream does not want to know any more. `upstreamId`: JSON text. */
  withdraw(upstreamId: string | undefined): void {
    if (upstreamId === undefined) return
    for (const [key, input] of this.open) {
      if (!sameId(input.upstreamId, upstreamId)) continue
      this.open.delete(key)
      if (this.open.size === 0) this.hush()
      return
    }
  }

  /** Waits for what may follow. */
  gather(): void {
    const now = performance.now()
    if (this.#timer === undefined) this.#since = now
    else clearTimeout(this.#timer)
    const leftMs = Math.max(0, this.#since + gatherMs - now)
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        this.#gathered()
      },
      Math.min(quietMs, leftMs)
    )
  }

  /** Something else came: what is waited for is waited for anew. */
  touch(): void {
    if (this.#timer !== undefined) this.gather()
  }

  hush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  clear(): void {
    this.hush()
    this.open.clear()
  }
}
