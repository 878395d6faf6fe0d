/** One modern request on its way: the calls at backends that it takes, all given up when its client leaves, and what stands for it there. */
import type { Backend } from '../backends/backend.ts'
import { Running } from '../exchanges/running.ts'
import type { MessageSource } from '../exchanges/source.ts'
import type { Message } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Context } from './context.ts'
import { forModern } from './modern-view.ts'
import type { Caller } from './seats.ts'
import { self } from './self.ts'

export class ModernCall {
  readonly caller: Caller
  /** Reads lists, and is what the backends that pool know. */
  readonly seat: Live
  readonly #context: Context
  readonly #running: Running[] = []
  #stand: Live | undefined
  #gone = false

  constructor(caller: Caller, context: Context) {
    this.caller = caller
    this.#context = context
    this.seat = context.seats.seat(caller)
    this.seat.busy++
  }

  /** Whether the client left. */
  get gone(): boolean {
    return this.#gone
  }

  /** Sends the request, or what became of it, to a backend. */
  run(backend: Backend, upstream: Message): Running {
    const { seats, running: context } = this.#context
    const pooled = seats.pools(backend, this.caller)
    if (!pooled) this.#stand ??= seats.stand(this.caller)
    const running = new Running(pooled ? this.seat : this.#stand!, backend, upstream, false, context)
    this.#running.push(running)
    if (this.#gone) running.cancel('the client left')
    return running
  }

  /** The client left: that cancels (2026-07-28 basic/patterns/cancellation). */
  leave(): void {
    this.#gone = true
    for (const running of this.#running) running.cancel('the client left')
  }

  /** What is told of a source's messages. `answers`: the backend that answers for itself. */
  view(source: MessageSource, request: Message, answers: Backend | undefined): MessageSource {
    const { known } = this.#context
    return {
      async next() {
        for (let message = await source.next(); message !== undefined; message = await source.next()) {
          const seen = forModern(message, request, serverInfoOf(answers && known.get(answers)?.result) ?? self.info)
          if (seen !== undefined) return seen
        }
        return undefined
      }
    }
  }

  /** The answer is out, or nobody waits for it. */
  over(): void {
    this.seat.busy--
    if (this.#stand !== undefined) this.#context.seats.release(this.#stand)
    this.#stand = undefined
  }
}

/** JSON text by the InitializeResult that it stands in. */
let latest: { readonly result: string; readonly info: string | undefined } | undefined

/** Of an InitializeResult. Parsing it anew for each call would cost more than the call. */
export function serverInfoOf(result: string | undefined): string | undefined {
  if (result === undefined) return undefined
  if (latest?.result !== result) {
    const { serverInfo } = JSON.parse(result) as { serverInfo?: unknown }
    const isInfo = typeof serverInfo === 'object' && serverInfo !== null
    latest = { result, info: isInfo ? JSON.stringify(serverInfo) : undefined }
  }
  return latest.info
}
