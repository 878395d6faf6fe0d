import type { CompletionRequest } from '../../handlers/definition.ts'
import { ProtocolError } from '../../handlers/errors.ts'
import type { Completer, Completion } from '../../handlers/resource.ts'
import { contextOf } from './context.ts'
import type { Conversation } from './conversation.ts'
import type { Params } from './params.ts'
import type { Running } from './running.ts'

/** Values that one answer may hold (server/utilities/completion). */
const maxValues = 100

/** What a reference names is unknown: -32602. Known, but with nothing to complete it: no values. */
export async function complete(conversation: Conversation, params: Params, running: Running): Promise<unknown> {
  const request = requestOf(params)
  const { argument, ref } = request
  const name = ref.type === 'ref/prompt' ? ref.name : ref.uri
  const context = contextOf(conversation, running, name)
  const completers = completersOf(conversation, ref)
  const completer = completers !== undefined && Object.hasOwn(completers, argument.name) && completers[argument.name]
  const given = await conversation.invoke(name, () =>
    completer ? completer(argument.value, context, request.arguments) : conversation.complete?.(request, context)
  )
  return { completion: bounded(given ?? []) }
}

function bounded(given: Completion) {
  if (isList(given)) {
    return { values: given.slice(0, maxValues), total: given.length, hasMore: given.length > maxValues }
  }
  const { values, total, hasMore } = given
  if (values.length <= maxValues) return { values, total, hasMore }
  return { values: values.slice(0, maxValues), total: total ?? values.length, hasMore: true }
}

const isList = (given: Completion): given is readonly string[] => Array.isArray(given)

function completersOf(
  { catalog }: Conversation,
  ref: CompletionRequest['ref']
): Readonly<Record<string, Completer>> | undefined {
  if (ref.type === 'ref/prompt') {
    const prompt = catalog.prompts.get(ref.name)
    if (prompt === undefined) throw new ProtocolError(-32602, `Unknown prompt: ${ref.name}`)
    return prompt.definition.complete
  }
  const template = catalog.templates.get(ref.uri)
  if (template === undefined && !catalog.resources.has(ref.uri)) {
    throw new ProtocolError(-32602, `Unknown resource template: ${ref.uri}`)
  }
  return template?.definition.complete
}

function requestOf(params: Params): CompletionRequest {
  const ref = params.ref as { type?: unknown; name?: unknown; uri?: unknown } | undefined
  const argument = params.argument as { name?: unknown; value?: unknown } | undefined
  const known =
    (ref?.type === 'ref/prompt' && typeof ref.name === 'string') ||
    (ref?.type === 'ref/resource' && typeof ref.uri === 'string')
  if (!known) throw new ProtocolError(-32602, '"params.ref" must name a prompt or a resource template.')
  if (typeof argument?.name !== 'string' || typeof argument.value !== 'string') {
    throw new ProtocolError(-32602, '"params.argument" must have a name and a value.')
  }
  const filled = (params.context as { arguments?: Record<string, string> } | undefined)?.arguments
  return {
    ref: ref as CompletionRequest['ref'],
    argument: { name: argument.name, value: argument.value },
    arguments: filled ?? {}
  }
}
