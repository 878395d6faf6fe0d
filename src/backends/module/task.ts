/** One task (basic/utilities/tasks, "Task Status Lifecycle"): a call whose client comes back for what became of it. */
import { randomUUID } from 'node:crypto'
import type { GatewayError } from '../../errors.ts'
import { ProtocolError } from '../../handlers/errors.ts'
import { makeNotification } from '../../protocol/make.ts'
import type { Message } from '../../protocol/message.ts'
import { value } from '../../protocol/write.ts'
import type { Conversation } from './conversation.ts'
import type { Follower } from './follower.ts'
import { related, relatedMeta } from './related.ts'
import { Json } from './response.ts'
import type { Running } from './running.ts'
import { TaskAsks } from './task-asks.ts'
import type { TaskTimes } from './task-times.ts'

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

/** Of a text that tells why a task failed. */
const maxReason = 500

export class Task implements Follower {
  readonly id = randomUUID()
  readonly #times: TaskTimes
  readonly expires: number
  /** Whether somebody got its result. */
  fetched = false
  readonly #conversation: Conversation
  readonly #running: Running
  readonly #created = new Date().toISOString()
  #updated = this.#created
  #status: TaskStatus = 'working'
  #message: string | undefined
  readonly #asks: TaskAsks
  readonly #over = Promise.withResolvers<void>()
  #outcome: Json | ProtocolError | undefined

  /** `running`: the call, its queue read by nobody else. */
  constructor(conversation: Conversation, running: Running, times: TaskTimes) {
    this.#conversation = conversation
    this.#running = running
    this.#times = times
    this.expires = Date.now() + times.ttl
    this.#asks = new TaskAsks(conversation, running, this.id)
    running.follower = this
  }

  get isOver(): boolean {
    return this.#status === 'completed' || this.#status === 'failed' || this.#status === 'cancelled'
  }

  /** Bytes that are kept for whoever asks for the result. */
  get size(): number {
    return this.#outcome instanceof Json ? this.#outcome.text.length : 0
  }

  /** As the protocol tells it. */
  get listed(): Readonly<Record<string, unknown>> {
    return {
      taskId: this.id,
      status: this.#status,
      ...(this.#message === undefined ? {} : { statusMessage: this.#message }),
      createdAt: this.#created,
      lastUpdatedAt: this.#updated,
      ...this.#times
    }
  }

  /** Follows the call to its end. Never rejects. `room`: whether a result of so many bytes may be kept. */
  async follow(room: (bytes: number) => boolean): Promise<void> {
    try {
      for await (const message of this.#running.queue) {
        if (message.kind === 'response') this.#respond(message, room)
        else if (message.kind === 'request') this.#ask(message)
        else this.#conversation.tell(related(message, this.id))
      }
    } catch (error) {
      const { rpcCode, message, data } = error as GatewayError
      this.#end('failed', new ProtocolError(rpcCode, message, data), message)
    }
    // Cancelled from outside: the session is over.
    this.#end('cancelled', cancelled())
  }

  /** Blocks until the task is over, and meanwhile puts to the client what the handler asks (R123). */
  async result(reader: Running): Promise<Json> {
    this.#asks.read(reader)
    await this.#over.promise
    if (this.#asks.finish(reader)) this.fetched = true
    if (this.#outcome instanceof ProtocolError) throw this.#outcome
    return this.#outcome!
  }

  /** It ends now; what the handler still does is of no consequence. */
  cancel(text: string): void {
    this.#asks.withdrawAll()
    this.#end('cancelled', cancelled(), text)
    this.#running.queue.cancel(text)
  }

  /** It is one from its beginning. */
  becomeTask(): boolean {
    return true
  }

  said(message: string): void {
    if (this.isOver) return
    this.#message = message
    this.#updated = new Date().toISOString()
  }

  answered(id: string): void {
    if (this.#asks.answered(id) && this.#asks.size === 0 && this.#status === 'input_required') this.#become('working')
  }

  withdrawn(id: string): void {
    this.#asks.withdraw(id)
    this.answered(id)
  }

  #ask(request: Message): void {
    if (!this.#running.asked.has(request.id!)) return
    this.#become('input_required')
    this.#asks.add(request)
  }

  #respond(response: Message, room: (bytes: number) => boolean): void {
    const { result, error } = value(response) as {
      result?: { isError?: unknown; content?: { text?: unknown }[]; _meta?: object }
      error?: { code: number; message: string; data?: unknown }
    }
    if (error !== undefined) {
      this.#end('failed', new ProtocolError(error.code, error.message, error.data), error.message)
      return
    }
    const outcome = new Json(JSON.stringify({ ...result, _meta: { ...result?._meta, ...relatedMeta(this.id) } }))
    if (!room(outcome.text.length)) {
      const text = 'The results of tasks that are kept for this session leave no room for this one.'
      this.#end('failed', new ProtocolError(-32603, text), text)
    } else if (result?.isError !== true) this.#end('completed', outcome)
    else {
      const reason = result.content?.find(({ text }) => typeof text === 'string')?.text as string | undefined
      this.#end('failed', outcome, reason?.slice(0, maxReason))
    }
  }

  #end(status: TaskStatus, outcome: Json | ProtocolError, message?: string): void {
    if (this.isOver) return
    this.#outcome = outcome
    if (message !== undefined) this.#message = message
    this.#become(status)
    this.#over.resolve()
  }

  #become(status: TaskStatus): void {
    if (this.#status === status || this.isOver) return
    this.#status = status
    this.#updated = new Date().toISOString()
    this.#conversation.tell(makeNotification('notifications/tasks/status', this.listed))
  }
}

const cancelled = (): ProtocolError => new ProtocolError(-32603, 'The task was cancelled.')
