/** The messages of a modern call as its client is to see them. */
import type { Backend, Server } from '../backends/backend.ts'
import type { MessageSource } from '../exchanges/source.ts'
import type { Message } from '../protocol/message.ts'
import type { Context } from './context.ts'
import type { Hint } from './hints.ts'
import type { ModernCall } from './modern-call.ts'
import { type Answering, forModern } from './modern-view.ts'
import { self } from './self.ts'

export class ModernSource implements MessageSource, Answering {
  readonly #source: MessageSource
  readonly #call: ModernCall
  readonly #answers: Backend | undefined
  readonly #context: Context

  /** `answers`: the backend that answers for itself; undefined: the gateway does, or one of several. */
  constructor(source: MessageSource, call: ModernCall, answers: Backend | undefined, context: Context) {
    this.#source = source
    this.#call = call
    this.#answers = answers
    this.#context = context
  }

  get server(): string {
    return serverInfoOf(this.#answers && this.#context.known.get(this.#answers)) ?? self.info
  }

  hint(): Hint {
    return this.#context.hints.of(this.#answers ?? this.#call.asked?.backend, this.#call.request.method!)
  }

  task(id: string, isNew: boolean): string {
    return this.#call.taskName(id, isNew)
  }

  async next(): Promise<Message | undefined> {
    for (let message = await this.#source.next(); message !== undefined; message = await this.#source.next()) {
      const seen = forModern(message, this.#call.request, this)
      if (seen !== undefined) return seen
    }
    return undefined
  }
}

/** JSON texts. Parsing them anew for each call would cost more than the call. */
const infos = new WeakMap<Server, { readonly text: string | undefined }>()

/** Of an InitializeResult. */
export function serverInfoOf(server: Server | undefined): string | undefined {
  if (server === undefined) return undefined
  let info = infos.get(server)
  if (info === undefined) {
    const { serverInfo } = JSON.parse(server.result) as { serverInfo?: unknown }
    const isInfo = typeof serverInfo === 'object' && serverInfo !== null
    info = { text: isInfo ? JSON.stringify(serverInfo) : undefined }
    infos.set(server, info)
  }
  return info.text
}
