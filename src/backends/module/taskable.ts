/**
 * A call of a modern client that may become a task: until it does, what its handler says goes to the client that waits for the
 * answer; from then on it is kept for whoever comes back (extensions/tasks, "Task Creation").
 */
import type { GatewayError } from '../../errors.ts'
import { ProtocolError } from '../../handlers/errors.ts'
import { makeNotification } from '../../protocol/make.ts'
import { type Message, textOf } from '../../protocol/message.ts'
import type { Follower } from './follower.ts'
import type { ModernTask } from './modern-task.ts'
import { Json } from './response.ts'
import type { Running } from './running.ts'

export class Taskable implements Follower {
  readonly #outer: Running
  readonly #inner: Running
  readonly #create: () => ModernTask
  readonly #answer = Promise.withResolvers<unknown>()
  #task: ModernTask | undefined

  /** `outer`: whose client waits. `inner`: what runs the handler, its queue read by nobody else. `create` throws ProtocolError. */
  constructor(outer: Running, inner: Running, create: () => ModernTask) {
    this.#outer = outer
    this.#inner = inner
    this.#create = create
    inner.follower = this
    outer.signal.addEventListener('abort', () => this.#left(), { once: true })
    this.#answer.promise.catch(() => {})
    void this.#follow()
  }

  /** Of the waiting client: the result, or that it is a task. Rejects with a ProtocolError. */
  get answer(): Promise<unknown> {
    return this.#answer.promise
  }

  becomeTask(): boolean {
    if (this.#task === undefined) {
      this.#task = this.#create()
      this.#answer.resolve({ resultType: 'task', ...this.#task.listed })
    }
    return true
  }

  said(message: string): void {
    this.#task?.said(message)
  }

  answered(id: string): void {
    this.#task?.answered(id)
  }

  withdrawn(id: string): void {
    if (this.#task !== undefined) this.#task.answered(id)
    else {
      const params = { requestId: JSON.parse(id), reason: 'The call is over.' }
      this.#outer.queue.push(makeNotification('notifications/cancelled', params))
    }
  }

  #left(): void {
    if (this.#task === undefined) this.#inner.queue.cancel('The call was cancelled.')
  }

  async #follow(): Promise<void> {
    try {
      for await (const message of this.#inner.queue) {
        if (this.#task !== undefined) this.#task.take(message)
        else if (message.kind === 'response') this.#respond(message)
        else if (message.kind === 'request') this.#outer.ask(message)
        else await this.#outer.say(message)
      }
    } catch (error) {
      const { rpcCode, message, data } = error as GatewayError
      if (this.#task !== undefined) this.#task.fail(error as GatewayError)
      else this.#answer.reject(new ProtocolError(rpcCode, message, data))
    }
    // Cancelled from outside: nobody waits.
    this.#task?.cancel('The call was cancelled.')
    this.#answer.resolve(undefined)
  }

  #respond({ source, scanned }: Message): void {
    const error = textOf(source, scanned.top, 'error')
    if (error === undefined) {
      this.#answer.resolve(new Json(textOf(source, scanned.top, 'result')!))
      return
    }
    const { code, message, data } = JSON.parse(error) as { code: number; message: string; data?: unknown }
    this.#answer.reject(new ProtocolError(code, message, data))
  }
}
