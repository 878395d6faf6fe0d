import type { ContentBlock, Described, ToolAnnotations, ToolExecution, ToolResult } from './content.ts'
import type { Context } from './context.ts'
import type { Infer, JsonSchema, Schema } from './schema.ts'

/**
 * What a tool may return: text; a content block or several; a whole result; with an `outputSchema`, the structured content
 * itself. What it throws becomes a result with `isError`.
 */
export type ToolReturn =
  | string
  | number
  | boolean
  | null
  | undefined
  | object
  | ContentBlock
  | readonly ContentBlock[]
  | ToolResult

export interface TaskOptions {
  /**
   * Milliseconds from its beginning for which a task is kept; if it still runs then, it is cancelled. Default an hour, at most
   * a day; clients of 2025-11-25 may ask for another time.
   */
  readonly ttl?: number
  /** Milliseconds after which a client that polls should ask again. Default 1,000. */
  readonly pollInterval?: number
  /**
   * When a call of a client of 2026-07-28 becomes a task: with the `call`, or when the `handler` says so
   * (`context.becomeTask()`), after it asked what it has to know, or not at all. Default `call`.
   */
  readonly begins?: 'call' | 'handler'
}

export interface ToolDefinition<I extends Schema = JsonSchema, O extends Schema = JsonSchema> extends Described {
  /** 1 to 128 letters, digits, `_`, `-`, `.`. */
  readonly name: string
  /** Of an object. Left out: the tool takes none. */
  readonly inputSchema?: I
  /**
   * With it, `structuredContent` is checked before it is sent. Clients before 2026-07-28 know objects alone: they are not
   * shown another schema, and get another value as text.
   */
  readonly outputSchema?: O
  readonly annotations?: ToolAnnotations
  readonly execution?: ToolExecution
  /** Of the tasks that calls become, where `execution.taskSupport` lets them. */
  readonly task?: TaskOptions
  handler(args: Infer<I>, context: Context): ToolReturn | Promise<ToolReturn>
}
