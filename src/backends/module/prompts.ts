import { block } from '../../handlers/block.ts'
import { ProtocolError } from '../../handlers/errors.ts'
import type { PromptArguments, PromptReturn } from '../../handlers/prompt.ts'
import { contextOf } from './context.ts'
import type { Conversation } from './conversation.ts'
import { page } from './page.ts'
import { argumentsOf, type Params, stringOf } from './params.ts'
import type { Running } from './running.ts'

export function listPrompts(conversation: Conversation, params: Params): unknown {
  const listed = [...conversation.catalog.prompts.values()].map(prompt => prompt.listed)
  const { items, nextCursor } = page('prompts', listed, params.cursor, conversation.pageSize)
  return { prompts: items, nextCursor }
}

/** server/prompts, "Error Handling": an unknown name and a missing argument are -32602. */
export async function getPrompt(conversation: Conversation, params: Params, running: Running): Promise<unknown> {
  const name = stringOf(params, 'name')
  const prompt = conversation.catalog.prompts.get(name)?.definition
  if (prompt === undefined) throw new ProtocolError(-32602, `Unknown prompt: ${name}`)
  const args = argumentsOf(params)
  for (const argument of (prompt.arguments ?? []) as PromptArguments) {
    if (argument.required === true && !Object.hasOwn(args, argument.name)) {
      throw new ProtocolError(-32602, `The prompt ${name} needs the argument "${argument.name}".`)
    }
  }
  const wrong = Object.keys(args).find(key => typeof args[key] !== 'string')
  if (wrong !== undefined) throw new ProtocolError(-32602, `The argument "${wrong}" must be a string.`)
  const context = contextOf(conversation, running, name)
  const returned: PromptReturn = await conversation.invoke(name, () =>
    prompt.get(args as Record<string, string>, context)
  )
  const warn = (problem: string): void => conversation.warn(`prompt "${name}"`, problem)
  const whole = wholeOf(returned)
  return {
    ...whole,
    description: whole.description ?? prompt.description,
    messages: whole.messages.map(message => ({ ...message, content: block(message.content, warn) }))
  }
}

function wholeOf(returned: PromptReturn) {
  if (typeof returned === 'string') return { messages: [{ role: 'user' as const, content: returned }] }
  if ('messages' in returned) return returned
  return { messages: returned }
}
