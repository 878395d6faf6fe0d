/** From the first message to the shape of the answer: JSON when it is quick, an event stream otherwise (decisions: "Response mode"). */
import { isError, type Message } from '../protocol/message.ts'
import { type Countdown, Waiting } from './countdown.ts'
import { type MessageSource, Single } from './source.ts'

/**
 * `auto`: JSON unless something else than responses comes, or time runs out. `json`: always that. `sse`: an event stream, but
 * errors that come first are JSON. `sse-only`: the client takes nothing else.
 */
export type ResponseMode = 'auto' | 'json' | 'sse' | 'sse-only'

export type Begun =
  /** All responses, and nothing else; fewer than asked for (none) when calls were cancelled. */
  | { readonly kind: 'whole'; readonly responses: readonly Message[] }
  /** An event stream is to be opened; `rest` begins with what came already. */
  | { readonly kind: 'open'; readonly rest: MessageSource }

/** `sseAfter`: how long the response may take to be JSON. */
export function begin(source: MessageSource, mode: ResponseMode, sseAfter: Countdown): Promise<Begun> {
  const ready = source instanceof Single && (mode === 'auto' || mode === 'json') ? source.ready : undefined
  if (ready?.kind === 'response') return Promise.resolve({ kind: 'whole', responses: [ready] })
  if (mode === 'json') return responsesOf(source).then(responses => ({ kind: 'whole', responses }))
  return new Promise(resolve => new Beginning(source, mode, sseAfter, resolve).read())
}

/** Until the shape is known. By hand: this is on the way of every call, and a loop with a race in it costs several times as much. */
class Beginning extends Waiting {
  readonly #source: MessageSource
  readonly #mode: ResponseMode
  readonly #settle: (begun: Begun) => void
  readonly #came: Message[] = []
  #pending: Promise<Message | undefined> | undefined

  constructor(source: MessageSource, mode: ResponseMode, sseAfter: Countdown, settle: (begun: Begun) => void) {
    super()
    this.#source = source
    this.#mode = mode
    this.#settle = settle
    sseAfter.start(this)
  }

  read(): void {
    const pending = this.#source.next()
    this.#pending = pending
    void pending.then(message => {
      if (this.#pending === pending) this.#take(message)
    })
  }

  /** It takes too long. */
  override ring(): void {
    const pending = this.#pending
    this.#pending = undefined
    this.#settle({ kind: 'open', rest: from(this.#source, this.#came, pending) })
  }

  #take(message: Message | undefined): void {
    if (message !== undefined) {
      this.#came.push(message)
      if (this.#isPlain(message)) {
        this.read()
        return
      }
    }
    this.countdown?.stop(this)
    if (message === undefined) this.#settle({ kind: 'whole', responses: this.#came })
    else this.#settle({ kind: 'open', rest: from(this.#source, this.#came, undefined) })
  }

  #isPlain(message: Message): boolean {
    return message.kind === 'response' && (this.#mode === 'auto' || (this.#mode === 'sse' && isError(message)))
  }
}

/** Notifications are dropped: a JSON body has no room for them. */
async function responsesOf(source: MessageSource): Promise<Message[]> {
  const responses: Message[] = []
  for (let message = await source.next(); message !== undefined; message = await source.next()) {
    if (message.kind === 'response') responses.push(message)
  }
  return responses
}

function from(
  source: MessageSource,
  came: Message[],
  pending: Promise<Message | undefined> | undefined
): MessageSource {
  let arrived = false
  void pending?.then(() => {
    arrived = true
  })
  return {
    async next() {
      const message = came.shift()
      if (message !== undefined) return message
      if (pending === undefined) return source.next()
      const first = pending
      pending = undefined
      return first
    },
    onCloseStream(listener) {
      source.onCloseStream?.(listener)
    },
    get place() {
      return came.length > 0 || (pending !== undefined && arrived) ? undefined : source.place
    }
  }
}
