import type { Annotations, Described, ResourceContents } from './content.ts'
import type { Context } from './context.ts'

/** What reading gives: text, bytes, contents with a type of their own, or several of them. Nothing: not found. */
export type ResourceReturn =
  | string
  | Uint8Array
  | Partial<ResourceContents>
  | readonly Partial<ResourceContents>[]
  | null
  | undefined

/** At most 100 are sent. */
export type Completion =
  | readonly string[]
  | { readonly values: readonly string[]; readonly total?: number; readonly hasMore?: boolean }
export type CompletionResult = Completion | undefined | Promise<Completion | undefined>

/** Gives the values that may stand for what the user began to type; `args` is what is already filled in. */
export type Completer = (value: string, context: Context, args: Readonly<Record<string, string>>) => CompletionResult

interface Resourceful extends Described {
  readonly name: string
  readonly mimeType?: string
  readonly annotations?: Annotations
}

export interface ResourceDefinition extends Resourceful {
  readonly uri: string
  /** Bytes. */
  readonly size?: number
  read(uri: string, context: Context): ResourceReturn | Promise<ResourceReturn>
}

export interface ResourceTemplateDefinition extends Resourceful {
  /** RFC 6570, levels 1 to 3. */
  readonly uriTemplate: string
  /** By the name of a variable. */
  readonly complete?: Readonly<Record<string, Completer>>
  /** `variables` are decoded; a list (`{/path*}` is not in levels 1 to 3) cannot occur. */
  read(
    variables: Readonly<Record<string, string>>,
    context: Context & { readonly uri: string }
  ): ResourceReturn | Promise<ResourceReturn>
}
