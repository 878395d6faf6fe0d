/** What a handler gets beside its arguments. One per call, never shared. Members may be taken out of it (`{ progress, log }`). */
import type { Principal } from '../auth/principal.ts'
import type { AudioContent, ImageContent, LogLevel, Meta, Role, Root, TextContent } from './content.ts'
import type { Infer, Schema } from './schema.ts'

/**
 * Logs to the client (`notifications/message`), from the level that it set (`warning` unless it did). `data` is any JSON;
 * no secrets. Resolves when the reader keeps up; waiting is optional.
 */
export type Log = { readonly [Level in LogLevel]: (data: unknown) => Promise<void> } & ((
  level: LogLevel,
  data: unknown
) => Promise<void>)

export interface AskOptions {
  /**
   * What a modern client knows the question by (2026-07-28 basic/patterns/mrtr, "InputRequests"), 1 to 100 characters; no other
   * open question of the call may have it. An answer that comes with the call under its key is taken, and nobody is asked.
   * Default: `elicit-1`, `sample-1`, `roots-1`, counted for each kind in the order of asking.
   */
  readonly key?: string | undefined
}

export interface ElicitOptions extends AskOptions {
  /** Throw when the user's answer is unlike the schema; otherwise it is logged and given as it came. */
  readonly strict?: boolean
}

/** Of a single text. */
export interface TextField {
  readonly title?: string
  readonly description?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: 'email' | 'uri' | 'date' | 'date-time'
  readonly default?: string
}

/** `content` is there when the user accepted a form. */
export type ElicitResult<T> =
  | { readonly action: 'accept'; readonly content: T }
  | { readonly action: 'decline' | 'cancel'; readonly content?: undefined }

export interface ToolUse {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly _meta?: Meta
}

export interface ToolUseResult {
  readonly type: 'tool_result'
  readonly toolUseId: string
  readonly content: readonly unknown[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
  readonly _meta?: Meta
}

export type SamplingContent = TextContent | ImageContent | AudioContent | ToolUse | ToolUseResult

export interface SamplingMessage {
  readonly role: Role
  /** Several blocks only for clients of 2025-11-25. */
  readonly content: SamplingContent | readonly SamplingContent[]
  readonly _meta?: Meta
}

/** `params` of `sampling/createMessage`. */
export interface SampleOptions {
  readonly messages: readonly SamplingMessage[]
  readonly maxTokens: number
  readonly systemPrompt?: string
  readonly temperature?: number
  readonly stopSequences?: readonly string[]
  readonly includeContext?: 'none' | 'thisServer' | 'allServers'
  readonly modelPreferences?: Readonly<Record<string, unknown>>
  readonly metadata?: Readonly<Record<string, unknown>>
  /** Only for clients that declared `sampling.tools`. */
  readonly tools?: readonly Readonly<Record<string, unknown>>[]
  readonly toolChoice?: { readonly mode?: 'auto' | 'required' | 'none' }
}

export interface SampleResult extends SamplingMessage {
  readonly model: string
  readonly stopReason?: string
}

/** Lives as long as the client's session with this backend. */
export interface Session {
  readonly id: string
  get(key: string): unknown
  set(key: string, value: unknown): void
  delete(key: string): boolean
  has(key: string): boolean
}

/** Of the request, where the protocol has no sessions (modern), else of the session. */
export interface ClientFacts {
  /** `modern` from 2026-07-28 on: no session, and questions go out with an answer to the call, which waits for the next. */
  readonly era: 'legacy' | 'modern'
  /** The revision of the protocol that it speaks. */
  readonly version: string
  readonly capabilities: Readonly<Record<string, unknown>>
  /** `clientInfo`: for display, never for decisions about trust. */
  readonly info: Readonly<Record<string, unknown>>
}

export interface Context {
  /**
   * Tells how far the call is; nothing is sent when the client did not ask for it. `progress` must rise: what does not is
   * dropped. Sent at most every 20 ms, the latest wins. Resolves when the reader keeps up; waiting is optional.
   */
  readonly progress: (progress: number, total?: number, message?: string) => Promise<void>
  readonly log: Log
  /**
   * Asks the user for a form: an object of strings, numbers, booleans and choices. Throws before anything is sent when the
   * client cannot ask (a {@link MissingCapabilityError}, `Client does not support elicitation. Cannot request user input.`) or
   * the schema is no flat form.
   * No secrets: use {@link elicitUrl}.
   */
  readonly elicit: <const S extends Schema>(
    message: string,
    schema: S,
    options?: ElicitOptions
  ) => Promise<ElicitResult<Infer<S>>>
  /** Asks the user for one text; undefined when the user declines or cancels. Throws as {@link elicit} does. */
  readonly elicitText: (message: string, field?: TextField, options?: AskOptions) => Promise<string | undefined>
  /** Asks the user for one of several choices, a list or values with their titles. Otherwise like {@link elicitText}. */
  readonly elicitChoice: <const Choice extends string>(
    message: string,
    choices: readonly Choice[] | Readonly<Record<Choice, string>>,
    options?: AskOptions
  ) => Promise<Choice | undefined>
  /**
   * Asks the user to open an address (clients of 2025-11-25 that declared `elicitation.url`). `accept` says that the user
   * agreed, not that it is done; `done()` tells the client when it is.
   */
  readonly elicitUrl: (
    message: string,
    url: string,
    options?: AskOptions
  ) => Promise<{ readonly action: 'accept' | 'decline' | 'cancel'; readonly done: () => void }>
  /** Asks the model of the client. Throws a {@link MissingCapabilityError} when it has none to offer. */
  readonly sample: (params: SampleOptions, options?: AskOptions) => Promise<SampleResult>
  /** The folders that the client works on; none when it cannot tell. */
  readonly roots: (options?: AskOptions) => Promise<readonly Root[]>
  /** Calls back when the client says that they changed, until the call is over. */
  readonly onRootsChanged: (listener: () => void) => void
  /** Aborts when the call is cancelled, times out, or its session ends. */
  readonly signal: AbortSignal
  readonly session: Session
  readonly principal: Principal
  readonly client: ClientFacts
  /** `_meta` of the request. */
  readonly meta: Meta
  /** Tells every session that subscribed to this URI, or to a part of its path, that it changed. */
  readonly notifyResourceUpdated: (uri: string) => void
  /** Tells every session of this backend: `notifications/<name>` and its params. */
  readonly broadcast: (method: `notifications/${string}`, params?: Readonly<Record<string, unknown>>) => void
  /**
   * From now on the call is a task, where its client takes one: it is told so, and comes back for the result. For tools whose
   * `task.begins` is `handler`; others are tasks when they begin. Gives whether it is one. Throws when the client has too many.
   */
  readonly becomeTask: () => boolean
  /** Lets go of the client's connection now; it comes back for the rest of the call (basic/transports, 2025-11-25). */
  readonly closeStream: () => void
}
