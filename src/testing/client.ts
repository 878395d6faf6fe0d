import { keyOfAsk } from '../backends/ask-id.ts'
import type { Link } from '../backends/backend.ts'
import type { ContentBlock, LogLevel, Meta, PromptMessage, ResourceContents } from '../handlers/content.ts'
import { ClientError, ProtocolError } from '../handlers/errors.ts'
import { makeError, makeNotification, makeRequest, makeResult } from '../protocol/make.ts'
import type { Message } from '../protocol/message.ts'
import { value } from '../protocol/write.ts'
import type { NoticeFact } from '../telemetry/events.ts'
import { type Answers, answerTo } from './answers.ts'
import { followTask, type TaskClient } from './modern-task.ts'

export interface CallOptions {
  /** Cancels the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** `_meta` of the request, in place of a progress token. */
  readonly meta?: Meta
}

export interface CallResult {
  readonly content: readonly ContentBlock[]
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  readonly structuredContent?: any
  readonly isError?: boolean
  readonly _meta?: Meta
}

/** A notification or a request, as it came. */
export interface Said {
  readonly method: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  readonly params?: any
  /** Of what a modern client is asked: its key. */
  readonly key?: string
}

/** A client with the answers of a script. Everything it got is kept, in the order in which it came. */
export class TestClient {
  readonly progress: { readonly progress: number; readonly total?: number; readonly message?: string }[] = []
  readonly logs: { readonly level: LogLevel; readonly logger: string; readonly data: unknown }[] = []
  /** Every other notification. */
  readonly notifications: Said[] = []
  /** What the client was asked. */
  readonly asked: Said[] = []
  /** What the operator was told: warnings, and errors that handlers threw, with their stack. */
  readonly notices: readonly NoticeFact[]
  readonly #link: Link
  readonly #principal: string
  readonly #answers: Answers
  /** Of every request; undefined in a session. */
  readonly #envelope: Meta | undefined
  readonly #end: () => Promise<void>
  #ids = 0

  constructor(
    link: Link,
    parts: {
      readonly principal: string
      readonly answers: Answers
      readonly envelope: Meta | undefined
      readonly notices: readonly NoticeFact[]
      readonly end: () => Promise<void>
    }
  ) {
    this.#link = link
    this.#principal = parts.principal
    this.#answers = parts.answers
    this.#envelope = parts.envelope
    this.notices = parts.notices
    this.#end = parts.end
  }

  /** What `initialize` told the client: `capabilities`, `serverInfo`, `instructions`. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  get server(): any {
    return JSON.parse(this.#link.server.result)
  }

  callTool(name: string, args: Meta = {}, options: CallOptions = {}): Promise<CallResult> {
    const _meta = options.meta ?? { progressToken: this.#ids + 1 }
    return this.request('tools/call', { name, arguments: args, _meta }, options.signal)
  }

  /** Runs a tool as a task and waits for its result. `ttl` in milliseconds; clients of 2026-07-28 have no say in it. */
  async callTask(name: string, args: Meta = {}, options: CallOptions & { ttl?: number } = {}): Promise<CallResult> {
    const { ttl, meta: _meta, signal } = options
    const envelope = this.#envelope
    if (envelope !== undefined) {
      const client: TaskClient = {
        envelope,
        request: (method, params) => this.request(method, params),
        answer: (method, params, key) => {
          this.asked.push({ method, params, key })
          return answerTo(method, params, this.#answers)
        }
      }
      return (await followTask(client, { name, arguments: args }, _meta ?? {}, signal)) as CallResult
    }
    const { task } = await this.request('tools/call', { name, arguments: args, _meta, task: { ttl } })
    return this.request('tasks/result', { taskId: task.taskId }, signal)
  }

  async readResource(uri: string): Promise<readonly ResourceContents[]> {
    return (await this.request<{ contents: ResourceContents[] }>('resources/read', { uri })).contents
  }

  getPrompt(
    name: string,
    args: Readonly<Record<string, string>> = {}
  ): Promise<{ readonly description?: string; readonly messages: readonly PromptMessage[] }> {
    return this.request('prompts/get', { name, arguments: args })
  }

  /** Any request. Rejects with a ProtocolError for an error, with the signal's reason once that is aborted. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  async request<Result = any>(method: string, params?: unknown, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted()
    const request = makeRequest(String(++this.#ids), method, this.#enveloped(params))
    const exchange = this.#link.exchange(request, { principal: { key: this.#principal } })
    const onAbort = (): void => exchange.cancel(String(signal?.reason))
    signal?.addEventListener('abort', onAbort)
    try {
      for await (const message of exchange) {
        if (message.kind === 'response') return resultOf(message) as Result
        this.take(message)
      }
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
    signal?.throwIfAborted()
    throw new ProtocolError(-32603, 'The session ended before the answer.')
  }

  /** Tells the handlers something, such as `notifications/roots/list_changed`. */
  notify(method: string, params?: unknown): Promise<void> {
    return this.#link.send(makeNotification(method, params))
  }

  /** For whoever opens the link. */
  take(message: Message): void {
    const { method = '', params } = value(message) as Partial<Said>
    if (message.kind === 'request') {
      this.asked.push({ method, params, ...(this.#envelope === undefined ? {} : { key: keyOfAsk(message.id!) }) })
      void this.#answer(message.id!, method, params)
    } else if (method === 'notifications/progress') {
      const { progressToken: _token, ...progress } = params
      this.progress.push(progress)
    } else if (method === 'notifications/message') this.logs.push(params)
    else this.notifications.push({ method, params })
  }

  /** Ends the session: calls that still run are cancelled. */
  close(): Promise<void> {
    return this.#end()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#end()
  }

  #enveloped(params: unknown): unknown {
    if (this.#envelope === undefined) return params
    const { _meta, ...rest } = (params ?? {}) as { readonly _meta?: Meta }
    return { ...rest, _meta: { ...this.#envelope, ..._meta } }
  }

  /** Never rejects: a link that is closed wants no answer. */
  async #answer(id: string, method: string, params: unknown): Promise<void> {
    const answer = await answerTo(method, params, this.#answers).then(
      result => makeResult(id, result),
      (error: unknown) => {
        const { code, message, data } = error instanceof ClientError ? error : new ClientError(-32603, String(error))
        return makeError(id, code, message, data)
      }
    )
    await this.#link.send(answer).catch(() => {})
  }
}

function resultOf(message: Message): unknown {
  const { result, error } = value(message) as { result?: unknown; error?: Partial<ProtocolError> }
  if (error === undefined) return result
  throw new ProtocolError(Number(error.code), String(error.message), error.data)
}
