/** What authors of in-process handlers import: `defineHandler` and what goes into it. */
import type { HandlerDefinition } from './definition.ts'
import { Handler } from './handler.ts'
import type { PromptArguments, PromptDefinition } from './prompt.ts'
import type { ResourceDefinition, ResourceTemplateDefinition } from './resource.ts'
import type { JsonSchema, Schema } from './schema.ts'
import type { ToolDefinition } from './tool.ts'

export type * from './content.ts'
export type * from './context.ts'
export type * from './definition.ts'
export { ClientError, MissingCapabilityError, ProtocolError, ToolError } from './errors.ts'
export type { Handler } from './handler.ts'
export type * from './prompt.ts'
export type * from './resource.ts'
export type { Infer, JsonSchema, Schema, StandardSchema } from './schema.ts'
export type * from './tool.ts'

export const defineHandler = (definition: HandlerDefinition): Handler => new Handler(definition)

/** A tool whose `handler` gets arguments typed by its schema. */
export const defineTool = <const I extends Schema = { readonly type: 'object' }, const O extends Schema = JsonSchema>(
  tool: ToolDefinition<I, O>
): ToolDefinition<I, O> => tool

export const defineResource = (resource: ResourceDefinition): ResourceDefinition => resource

/** A family of resources under one URI template (RFC 6570, levels 1 to 3). */
export const defineResourceTemplate = (template: ResourceTemplateDefinition): ResourceTemplateDefinition => template

/** A prompt whose `get` gets arguments typed by their declaration. */
export const definePrompt = <const A extends PromptArguments = readonly []>(
  prompt: PromptDefinition<A>
): PromptDefinition<A> => prompt
