import { performance } from 'node:perf_hooks'
import { GatewayError } from '../../errors.ts'
import { ClientError, ProtocolError } from '../../handlers/errors.ts'
import { makeError, makeNotification, makeResult } from '../../protocol/make.ts'
import { type Message, readMessage, textMeta } from '../../protocol/message.ts'
import { facts } from '../../telemetry/events.ts'
import type { Call } from '../backend.ts'
import { Queue } from '../queue.ts'

/** Milliseconds between two progress notifications of one call. */
const progressEvery = 20
/** Messages that a call may have waiting; logs beyond them are dropped. */
const maxWaiting = 1_000

interface Progress {
  readonly progress: number
  readonly total: number | undefined
  readonly message: string | undefined
}

/** One request being answered: its exchange, what it told and what it asked. Shared with no other call. */
export class Running {
  readonly queue: Queue
  readonly request: Message
  readonly call: Call
  readonly #backend: string
  readonly #over: (running: Running) => void
  #controller: AbortController | undefined
  #aborted: Error | undefined
  /** Requests of the handler that wait for the client, by id. */
  readonly asked = new Map<string, Asked>()
  #room: PromiseWithResolvers<void> | undefined
  #waiting = 0
  #token: string | undefined | null = null
  #lastProgress = Number.NEGATIVE_INFINITY
  #lastProgressAt = Number.NEGATIVE_INFINITY
  #pending: Progress | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(backend: string, request: Message, call: Call, over: (running: Running) => void) {
    this.#backend = backend
    this.request = request
    this.call = call
    this.#over = over
    this.queue = new Queue({
      cancel: reason => this.abort(new DOMException(reason ?? 'The call was cancelled.', 'AbortError')),
      detach: () => this.#end(),
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
  async run(work: (running: Running) => unknown): Promise<void> {
    const id = this.request.id!
    let response: Message
    try {
      const result = await work(this)
      if (this.queue.over) return
      response = result instanceof Json ? resultMessage(id, result) : makeResult(id, result ?? {})
    } catch (error) {
      if (this.queue.over) return
      response = this.#failure(id, error)
    }
    this.#flush()
    this.#withdraw()
    this.queue.finish(response)
    this.#end()
  }

  /** The call is over without an answer: cancelled, or its link closed. */
  abort(reason: Error): void {
    this.#aborted = reason
    for (const asked of this.asked.values()) asked.reject(reason)
    this.#end()
    this.#controller?.abort(reason)
  }

  /** Resolves once the reader keeps up. */
  say(message: Message): Promise<void> {
    if (this.queue.over) return settled
    if (this.#waiting >= maxWaiting) {
      facts.drop.publish({ reason: 'handler_flood', backend: this.#backend })
      return this.#room?.promise ?? settled
    }
    if (this.queue.push(message)) return settled
    this.#waiting++
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  progress(progress: number, total: number | undefined, message: string | undefined): Promise<void> {
    if (this.queue.over) return settled
    if (this.#token === null) this.#token = textMeta(this.request, 'progressToken')
    if (this.#token === undefined) return settled
    if (!Number.isFinite(progress) || progress <= this.#lastProgress) {
      facts.drop.publish({ reason: 'progress_not_rising', backend: this.#backend })
      return settled
    }
    this.#lastProgress = progress
    this.#pending = { progress, total, message }
    const wait = this.#lastProgressAt + progressEvery - performance.now()
    if (this.#room !== undefined) return this.#room.promise
    if (wait <= 0) return this.#flush()
    this.#timer ??= setTimeout(() => void this.#flush(), wait)
    return settled
  }

  /** Asks the client; `id` is the link's own. The answer comes by {@link Asked}. */
  ask(id: string, request: Message): Promise<unknown> {
    if (this.#aborted !== undefined) return Promise.reject(this.#aborted)
    if (this.queue.over) return Promise.reject(new Error('The call is over: nothing can be asked any more.'))
    const asked = Promise.withResolvers<unknown>()
    this.asked.set(id, asked)
    this.#flush()
    this.queue.push(request)
    return asked.promise.finally(() => this.asked.delete(id))
  }

  #failure(id: string, error: unknown): Message {
    if (error instanceof ProtocolError) return makeProtocolError(id, error)
    if (error instanceof GatewayError) return makeError(id, error.rpcCode, error.message, error.data)
    facts.notice.publish({
      level: 'error',
      text: `a handler failed in ${this.request.method}`,
      backend: this.#backend,
      error
    })
    if (error instanceof ClientError) return makeError(id, error.code, error.message, error.data)
    return makeError(id, -32603, error instanceof Error ? error.message : 'The handler failed.')
  }

  /** Sends the progress that waits for its time. */
  #flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const pending = this.#pending
    if (pending === undefined || this.queue.over) return settled
    this.#pending = undefined
    this.#lastProgressAt = performance.now()
    return this.say(progressMessage(this.#token!, pending))
  }

  #resume(): void {
    this.#waiting = 0
    const room = this.#room
    this.#room = undefined
    room?.resolve()
    if (this.#pending !== undefined) void this.#flush()
  }

  /** The handler answered without waiting for what it asked: the client need not bother its user. */
  #withdraw(): void {
    for (const [id, asked] of this.asked) {
      this.queue.push(
        makeNotification('notifications/cancelled', { requestId: JSON.parse(id), reason: 'The call is over.' })
      )
      asked.reject(new Error('The call is over.'))
    }
  }

  #end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#pending = undefined
    this.#room?.resolve()
    this.#room = undefined
    this.#over(this)
  }
}

/** A result that is JSON text already. */
export class Json {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Results may be nested as deep as the gateway takes from any backend. */
const maxDepth = 1_000

const resultMessage = (id: string, { text }: Json): Message =>
  readMessage(Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${text}}`), maxDepth)

export interface Asked {
  resolve(result: unknown): void
  reject(error: Error): void
}

const settled = Promise.resolve()

/** The token goes back as it came: 0, "" and integers beyond 2^53 are tokens. */
const progressMessage = (token: string, { progress, total, message }: Progress): Message => {
  const text = message === undefined ? '' : `,"message":${JSON.stringify(message)}`
  const of = typeof total === 'number' && Number.isFinite(total) ? `,"total":${total}` : ''
  return readMessage(
    Buffer.from(
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":${progress}${of}${text}}}`
    ),
    8
  )
}

function makeProtocolError(id: string, error: ProtocolError): Message {
  try {
    return makeError(id, Number.isInteger(error.code) ? error.code : -32603, error.message, error.data)
  } catch {
    return makeError(id, -32603, error.message)
  }
}
