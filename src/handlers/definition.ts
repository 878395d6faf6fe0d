import type { Icon, LogLevel } from './content.ts'
import type { Context } from './context.ts'
import type { PromptDefinition } from './prompt.ts'
import type { CompletionResult, ResourceDefinition, ResourceTemplateDefinition } from './resource.ts'
import type { ToolDefinition } from './tool.ts'

/** A server's worth of tools, resources and prompts. Everything but `name` may be left out. */
export interface HandlerDefinition {
  readonly name: string
  readonly version?: string
  readonly title?: string
  readonly description?: string
  readonly icons?: readonly Icon[]
  readonly websiteUrl?: string
  /** Tells the model how the whole is used. */
  readonly instructions?: string
  // biome-ignore lint/suspicious/noExplicitAny: each tool has arguments of its own; `defineTool` types them
  readonly tools?: readonly ToolDefinition<any, any>[]
  readonly resources?: readonly ResourceDefinition[]
  readonly resourceTemplates?: readonly ResourceTemplateDefinition[]
  // biome-ignore lint/suspicious/noExplicitAny: likewise, `definePrompt`
  readonly prompts?: readonly PromptDefinition<any>[]
  /** Completes what no prompt and no template completes by itself. */
  readonly complete?: (request: CompletionRequest, context: Context) => CompletionResult
  /** What is logged before the client sets a level; `false`: no logging at all. Default `warning`. */
  readonly logging?: LogLevel | false
  /** Entries on one page of a list. Default 100. */
  readonly pageSize?: number
}

/** `ref` names a prompt (`name`) or a resource template (`uri`). */
export interface CompletionRequest {
  readonly ref:
    | { readonly type: 'ref/prompt'; readonly name: string }
    | { readonly type: 'ref/resource'; readonly uri: string }
  readonly argument: { readonly name: string; readonly value: string }
  /** What the user already filled in. */
  readonly arguments: Readonly<Record<string, string>>
}
