import { GatewayError } from '../../errors.ts'
import { isMissingCapability, isProtocolError } from '../../handlers/errors.ts'
import { makeNotification, makeResult } from '../../protocol/make.ts'
import type { Message } from '../../protocol/message.ts'
import { facts } from '../../telemetry/events.ts'
import type { Call } from '../backend.ts'
import { Queue } from '../queue.ts'
import { inScope, type Scope } from '../scope.ts'
import type { Asked } from './asked.ts'
import type { Caller } from './caller.ts'
import type { Follower } from './follower.ts'
import { Progress } from './progress.ts'
import { errorMessage, failureMessage, faultMessage, Json, missingMessage, resultMessage } from './response.ts'
import type { Shared } from './shared.ts'
import { Voice } from './voice.ts'

/** One request being answered: its exchange, what it told and what it asked. Shared with no other call. */
export class Running implements Scope {
  readonly queue: Queue
  readonly request: Message
  readonly call: Call
  readonly caller: Caller
  /** By id. */
  readonly asked = new Map<string, Asked>()
  follower: Follower | undefined
  /** Name of the tool, prompt or resource whose handler runs. */
  handler: string | undefined
  readonly #shared: Shared
  readonly #over: (running: Running) => void
  readonly #voice: Voice
  #progress: Progress | undefined
  #controller: AbortController | undefined
  #aborted: Error | undefined
  #isSettled = false
  #rootsListeners: (() => void)[] | undefined

  /** `over` is told when nothing of it runs any more, or nobody wants it. */
  constructor(shared: Shared, request: Message, call: Call, caller: Caller, over: (running: Running) => void) {
    this.#shared = shared
    this.request = request
    this.call = call
    this.caller = caller
    this.#over = over
    this.queue = new Queue({
      cancel: reason => this.#abort(new DOMException(reason ?? 'The call was cancelled.', 'AbortError')),
      detach: () => this.#resume(),
      resume: () => this.#resume()
    })
    this.#voice = new Voice(this.queue, shared.name)
  }

  /** Made when it is asked for: most handlers do not. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#aborted !== undefined) this.#controller.abort(this.#aborted)
    return this.#controller.signal
  }

  /** Answers with what `work` gives or throws. Never rejects. */
  run(work: () => unknown): Promise<void> {
    return inScope(this, () => this.#run(work))
  }

  /** Something that it left behind threw. A call that waits for it waits no longer. */
  fault(error: unknown): void {
    const text = `"${this.handler}" left an error that nobody caught, in ${this.request.method}`
    facts.notice.publish({ level: 'error', text, backend: this.#shared.name, error })
    if (this.queue.over) return
    this.#respond(faultMessage(this.request, error))
    this.#shared.stuck.add(this)
  }

  async #run(work: () => unknown): Promise<void> {
    const id = this.request.id!
    let response: Message
    try {
      const result = await work()
      this.#settled()
      if (this.queue.over) return this.#end()
      response = result instanceof Json ? resultMessage(id, result) : makeResult(id, result ?? {})
    } catch (error) {
      this.#settled()
      if (this.queue.over) return this.#end()
      response = this.#failure(id, error)
    }
    this.#respond(response)
  }

  #settled(): void {
    this.#isSettled = true
    this.#shared.stuck.delete(this)
  }

  #respond(response: Message): void {
    const id = this.request.id!
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
    return this.#voice.say(message)
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
    return this.#voice.behind ?? this.#progress.send()
  }

  /** Why nothing can be asked any more; undefined while it can. */
  get over(): Error | undefined {
    return this.queue.over ? (this.#aborted ?? new Error('The call is over.')) : undefined
  }

  /** Asks the client. */
  ask(request: Message): void {
    void this.#progress?.flush()
    this.queue.push(request)
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
    if (isMissingCapability(error)) return missingMessage(id, error, this.caller.client)
    const text = `a handler failed in ${this.request.method}`
    facts.notice.publish({ level: 'error', text, backend: this.#shared.name, error })
    return failureMessage(id, error)
  }

  /** The handler answered without waiting for what it asked: the client need not bother its user any more. */
  #withdraw(): void {
    for (const [id, asked] of this.asked) {
      const params = { requestId: JSON.parse(id), reason: 'The call is over.' }
      if (this.follower === undefined) this.queue.push(makeNotification('notifications/cancelled', params))
      else this.follower.withdrawn(id)
      asked.reject(new Error('The call is over.'))
    }
  }

  #abort(reason: Error): void {
    this.#aborted = reason
    for (const asked of this.asked.values()) asked.reject(reason)
    this.#end()
    this.#controller?.abort(reason)
    if (this.handler !== undefined && !this.#isSettled) this.#shared.stuck.add(this)
  }

  #resume(): void {
    this.#voice.resume()
    void this.#progress?.flush()
  }

  #end(): void {
    this.#progress?.stop()
    this.#voice.resume()
    this.#over(this)
  }
}

const settled = Promise.resolve()
