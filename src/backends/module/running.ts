import { GatewayError } from '../../errors.ts'
import { ClientError, isProtocolError } from '../../handlers/errors.ts'
import { makeError, makeNotification, makeResult } from '../../protocol/make.ts'
import type { Message } from '../../protocol/message.ts'
import { facts } from '../../telemetry/events.ts'
import type { Call } from '../backend.ts'
import { Queue } from '../queue.ts'
import { Progress } from './progress.ts'
import { errorMessage, Json, resultMessage } from './response.ts'
import type { Shared } from './shared.ts'

/** Messages that a call may have waiting for a slow reader; what it says beyond them is dropped. */
const maxWaiting = 1_000

/** A request of the handler that waits for the client. */
export interface Asked {
  resolve(result: unknown): void
  reject(error: Error): void
}

/** Who a call belongs to when it outlives its exchange: its task. */
export interface Follower {
  /** What the handler told with its progress. */
  said(message: string): void
  /** Nobody waits any more for the answer to this request of the handler. */
  answered(id: string): void
  /** The handler is done without waiting for the answer. */
  withdrawn(id: string): void
}

/** One request being answered: its exchange, what it told and what it asked. Shared with no other call. */
export class Running {
  readonly queue: Queue
  readonly request: Message
  readonly call: Call
  /** By id. */
  readonly asked = new Map<string, Asked>()
  follower: Follower | undefined
  readonly #shared: Shared
  readonly #over: (running: Running) => void
  #progress: Progress | undefined
  #controller: AbortController | undefined
  #aborted: Error | undefined
  /** While the reader is behind: resolves when it is not. */
  #room: PromiseWithResolvers<void> | undefined
  #waiting = 0
  #rootsListeners: (() => void)[] | undefined

  /** `over` is told when nothing of it runs any more, or nobody wants it. */
  constructor(shared: Shared, request: Message, call: Call, over: (running: Running) => void) {
    this.#shared = shared
    this.request = request
    this.call = call
    this.#over = over
    this.queue = new Queue({
      cancel: reason => this.#abort(new DOMException(reason ?? 'The call was cancelled.', 'AbortError')),
      detach: () => this.#resume(),
      resume: () => this.#resume()
    })
  }

  /** Made when it is asked for: most handlers do not. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#aborted !== undefined) this.#controller.abort(this.#aborted)
    return this.#controller.signal
  }

  /** Answers with what `work` gives or throws. Never rejects. */
  async run(work: () => unknown): Promise<void> {
    const id = this.request.id!
    let response: Message
    try {
      const result = await work()
      if (this.queue.over) return this.#end()
      response = result instanceof Json ? resultMessage(id, result) : makeResult(id, result ?? {})
    } catch (error) {
      if (this.queue.over) return this.#end()
      response = this.#failure(id, error)
    }
    void this.#progress?.flush()
    this.#withdraw()
    const { length } = response.source
    if (length <= this.#shared.maxBytes) this.queue.finish(response)
    else {
      const text = `The answer has ${length} bytes, the limit is ${this.#shared.maxBytes}.`
      this.queue.fail(new GatewayError('backend_too_large', text, { id, backend: this.#shared.name }))
    }
    this.#end()
  }

  /** Resolves once the reader keeps up. */
  say(message: Message): Promise<void> {
    if (this.queue.over) return settled
    if (this.#room !== undefined && this.#waiting >= maxWaiting) {
      facts.drop.publish({ reason: 'handler_flood', backend: this.#shared.name })
      return this.#room.promise
    }
    if (this.queue.push(message)) return settled
    this.#waiting++
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  progress(progress: number, total: number | undefined, message: string | undefined): Promise<void> {
    if (this.queue.over) return settled
    if (message !== undefined) this.follower?.said(String(message))
    this.#progress ??= new Progress(this.request, message => this.say(message))
    if (!this.#progress.wanted) return settled
    if (!this.#progress.tell(progress, total, message)) {
      facts.drop.publish({ reason: 'progress_not_rising', backend: this.#shared.name })
      return settled
    }
    return this.#room?.promise ?? this.#progress.send()
  }

  /** Asks the client; `id` is the link's own. Rejects when the call is over. */
  ask(id: string, request: Message): Promise<unknown> {
    if (this.queue.over) return Promise.reject(this.#aborted ?? new Error('The call is over.'))
    const asked = Promise.withResolvers<unknown>()
    this.asked.set(id, asked)
    void this.#progress?.flush()
    this.queue.push(request)
    return asked.promise.finally(() => {
      this.asked.delete(id)
      this.follower?.answered(id)
    })
  }

  onRootsChanged(listener: () => void): void {
    this.#rootsListeners ??= []
    this.#rootsListeners.push(listener)
  }

  /** The client says that its roots changed. */
  rootsChanged(): void {
    for (const listener of this.#rootsListeners ?? []) {
      try {
        listener()
      } catch (error) {
        const text = `a handler failed in a listener for roots, in ${this.request.method}`
        facts.notice.publish({ level: 'error', text, backend: this.#shared.name, error })
      }
    }
  }

  #failure(id: string, error: unknown): Message {
    if (isProtocolError(error)) return errorMessage(id, error)
    const text = `a handler failed in ${this.request.method}`
    facts.notice.publish({ level: 'error', text, backend: this.#shared.name, error })
    if (error instanceof ClientError) return errorMessage(id, error)
    return makeError(id, -32603, error instanceof Error ? error.message : 'The handler failed.')
  }

  /** The handler answered without waiting for what it asked: the client need not bother its user any more. */
  #withdraw(): void {
    for (const [id, asked] of this.asked) {
      const params = { requestId: JSON.parse(id), reason: 'The call is over.' }
      if (this.follower === undefined) this.queue.push(makeNotification('notifications/cancelled', params))
      else this.follower.withdrawn(id)
      this.asked.delete(id)
      asked.reject(new Error('The call is over.'))
    }
  }

  #abort(reason: Error): void {
    this.#aborted = reason
    for (const asked of this.asked.values()) asked.reject(reason)
    this.#end()
    this.#controller?.abort(reason)
  }

  #resume(): void {
    this.#waiting = 0
    this.#room?.resolve()
    this.#room = undefined
    void this.#progress?.flush()
  }

  #end(): void {
    this.#progress?.stop()
    this.#room?.resolve()
    this.#room = undefined
    this.#over(this)
  }
}

const settled = Promise.resolve()
