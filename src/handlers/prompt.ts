import type { Described, PromptMessage, PromptResult } from './content.ts'
import type { Context } from './context.ts'
import type { Completer } from './resource.ts'

export interface PromptArgument {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly required?: boolean
}
export type PromptArguments = readonly PromptArgument[]

/** The arguments by name; those that are not required may be missing. */
export type PromptValues<A extends PromptArguments> = {
  readonly [P in A[number] as P extends { readonly required: true } ? P['name'] : never]: string
} & {
  readonly [P in A[number] as P extends { readonly required: true } ? never : P['name']]?: string
}

/** Text is one message of the user. */
export type PromptReturn = string | readonly PromptMessage[] | PromptResult

export interface PromptDefinition<A extends PromptArguments = PromptArguments> extends Described {
  readonly name: string
  readonly arguments?: A
  /** By the name of an argument. */
  readonly complete?: Readonly<Record<string, Completer>>
  get(args: PromptValues<A>, context: Context): PromptReturn | Promise<PromptReturn>
}
