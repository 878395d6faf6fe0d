/** The shapes of the protocol that authors of handlers write and get (schema 2025-11-25). Unknown members may be added everywhere. */

export type Role = 'user' | 'assistant'

export type LogLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency'

export type Meta = Readonly<Record<string, unknown>>

/** `src` is an http(s) or data URI. */
export interface Icon {
  readonly src: string
  readonly mimeType?: string
  /** `48x48`, or `any`. */
  readonly sizes?: readonly string[]
  readonly theme?: 'light' | 'dark'
}

export interface Annotations {
  /** Who it is for. Empty: not said. */
  readonly audience?: readonly Role[]
  /** From 0 (may be left out) to 1 (needed). */
  readonly priority?: number
  /** ISO 8601. */
  readonly lastModified?: string
}

/** Hints for people and models; the gateway never acts on them. */
export interface ToolAnnotations {
  readonly title?: string
  readonly readOnlyHint?: boolean
  readonly destructiveHint?: boolean
  readonly idempotentHint?: boolean
  readonly openWorldHint?: boolean
}

export interface ToolExecution {
  readonly taskSupport?: 'forbidden' | 'optional' | 'required'
}

interface Annotated {
  readonly annotations?: Annotations
  readonly _meta?: Meta
}

export interface TextContent extends Annotated {
  readonly type: 'text'
  readonly text: string
}

/** `data` is base64, or bytes that become it. */
export interface ImageContent extends Annotated {
  readonly type: 'image'
  readonly data: string | Uint8Array
  readonly mimeType: string
}

/** `data` is base64, or bytes that become it. */
export interface AudioContent extends Annotated {
  readonly type: 'audio'
  readonly data: string | Uint8Array
  readonly mimeType: string
}

/** What a resource holds: `text`, or `blob` (base64, or bytes that become it). */
export interface ResourceContents {
  readonly uri: string
  readonly mimeType?: string
  readonly text?: string
  readonly blob?: string | Uint8Array
  readonly annotations?: Annotations
  readonly _meta?: Meta
}

export interface EmbeddedResource extends Annotated {
  readonly type: 'resource'
  readonly resource: ResourceContents
}

/** What lists say of every kind of thing. */
export interface Described {
  /** For people; `name` is shown when there is none. */
  readonly title?: string
  readonly description?: string
  readonly icons?: readonly Icon[]
  readonly _meta?: Meta
}

export interface ResourceLink extends Described {
  readonly type: 'resource_link'
  readonly uri: string
  readonly name: string
  readonly mimeType?: string
  readonly annotations?: Annotations
  /** Bytes. */
  readonly size?: number
}

/** A block of a result or of a prompt. Types this version does not know are passed as they are. */
export type ContentBlock =
  | TextContent
  | ImageContent
  | AudioContent
  | EmbeddedResource
  | ResourceLink
  | { readonly type: `x-${string}`; readonly [member: string]: unknown }

/** The result of a tool, whole. */
export interface ToolResult {
  /** A string stands for a text block. */
  readonly content?: readonly (ContentBlock | string)[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
  readonly _meta?: Meta
}

export interface PromptMessage {
  readonly role: Role
  /** A string stands for a text block. */
  readonly content: ContentBlock | string
}

export interface PromptResult {
  readonly description?: string
  readonly messages: readonly PromptMessage[]
  readonly _meta?: Meta
}

export interface Root {
  readonly uri: string
  readonly name?: string
  readonly _meta?: Meta
}
