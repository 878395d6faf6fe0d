import { performance } from 'node:perf_hooks'
import { type Message, readMessage, textMeta } from '../../protocol/message.ts'

/** Notifications that one call may send at once, and the milliseconds after which it may send another. */
const burst = 10
const every = 20

interface Step {
  readonly progress: number
  readonly total: number | undefined
  readonly message: string | undefined
}

/** What a call told of its progress: rising, at a bounded rate, the latest wins (basic/utilities/progress). */
export class Progress {
  /** The token as it came: 0, "" and integers beyond 2^53 are tokens. Undefined: the client did not ask. */
  readonly #token: string | undefined
  readonly #say: (message: Message) => Promise<void>
  #last = Number.NEGATIVE_INFINITY
  #budget = burst
  #budgetAt = 0
  #waiting: Step | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(request: Message, say: (message: Message) => Promise<void>) {
    this.#token = textMeta(request, 'progressToken')
    this.#say = say
  }

  get wanted(): boolean {
    return this.#token !== undefined
  }

  /** Whether it is more than what was told before, and so will be sent: by `flush`, or by itself when its time comes. */
  tell(progress: number, total: number | undefined, message: string | undefined): boolean {
    if (!Number.isFinite(progress) || progress <= this.#last) return false
    this.#last = progress
    this.#waiting = { progress, total, message }
    return true
  }

  /** Sends what was told last, now or when the rate allows. */
  send(): Promise<void> {
    const now = performance.now()
    this.#budget = Math.min(burst, this.#budget + (now - this.#budgetAt) / every)
    this.#budgetAt = now
    if (this.#budget >= 1) return this.flush()
    this.#timer ??= setTimeout(() => void this.flush(), (1 - this.#budget) * every)
    return Promise.resolve()
  }

  /** Sends what waits for its time. */
  flush(): Promise<void> {
    const step = this.#waiting
    this.stop()
    if (step === undefined) return Promise.resolve()
    this.#budget--
    return this.#say(progressMessage(this.#token!, step))
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#waiting = undefined
  }
}

const progressMessage = (token: string, { progress, total, message }: Step): Message => {
  const text = message === undefined ? '' : `,"message":${JSON.stringify(String(message))}`
  const of = Number.isFinite(total) ? `,"total":${total}` : ''
  const params = `{"progressToken":${token},"progress":${progress}${of}${text}}`
  return readMessage(Buffer.from(`{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}`), 8)
}
