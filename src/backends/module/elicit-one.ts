/** A single question: a form with one field. Undefined when the user does not say. */
import type { AskOptions, TextField } from '../../handlers/context.ts'
import type { JsonSchema } from '../../handlers/schema.ts'
import type { Conversation } from './conversation.ts'
import { elicit } from './elicit.ts'
import type { Running } from './running.ts'

async function elicitOne(
  conversation: Conversation,
  running: Running,
  name: string,
  message: string,
  answer: JsonSchema,
  { key }: AskOptions
): Promise<string | undefined> {
  const form = { type: 'object', properties: { answer }, required: ['answer'] }
  const { content } = await elicit(conversation, running, name, message, form, { strict: true, key })
  return (content as { readonly answer: string } | undefined)?.answer
}

export const elicitText = (
  conversation: Conversation,
  running: Running,
  name: string,
  message: string,
  field: TextField = {},
  options: AskOptions = {}
): Promise<string | undefined> => elicitOne(conversation, running, name, message, { ...field, type: 'string' }, options)

/** Choices as a list, or as values with their titles. */
export const elicitChoice = (
  conversation: Conversation,
  running: Running,
  name: string,
  message: string,
  choices: readonly string[] | Readonly<Record<string, string>>,
  options: AskOptions = {}
): Promise<string | undefined> => {
  const field = Array.isArray(choices)
    ? { enum: choices }
    : { oneOf: Object.entries(choices).map(([value, title]) => ({ const: value, title })) }
  return elicitOne(conversation, running, name, message, { type: 'string', ...field }, options)
}
