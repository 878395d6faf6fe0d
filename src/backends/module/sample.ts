import type { AskOptions, SampleOptions, SampleResult } from '../../handlers/context.ts'
import { MissingCapabilityError } from '../../handlers/errors.ts'
import { hasSamplingArrays } from '../../protocol/version.ts'
import { ask, objectOf } from './ask.ts'
import type { Conversation } from './conversation.ts'
import type { Running } from './running.ts'

/** Throws before anything is sent when the client has no model to offer, or cannot take what is asked (client/sampling). */
export async function sample(
  conversation: Conversation,
  running: Running,
  options: SampleOptions,
  { key }: AskOptions = {}
): Promise<SampleResult> {
  const { capabilities, version } = running.caller.client
  const sampling = objectOf(capabilities.sampling)
  if (sampling === undefined) {
    throw new MissingCapabilityError({ sampling: {} }, 'Client does not support sampling. Cannot ask its model.')
  }
  if ((options.tools !== undefined || options.toolChoice !== undefined) && sampling.tools === undefined) {
    throw new MissingCapabilityError({ sampling: { tools: {} } }, 'Client does not support sampling with tools.')
  }
  const params = hasSamplingArrays(version) ? options : { ...options, messages: options.messages.map(singleBlock) }
  return (await ask(conversation, running, { method: 'sampling/createMessage', params, key })) as SampleResult
}

/** Before 2025-11-25 a message holds one block. */
function singleBlock(message: SampleOptions['messages'][number]) {
  if (!Array.isArray(message.content)) return message
  if (message.content.length !== 1) throw new Error('The client takes one block in a message.')
  return { ...message, content: message.content[0] }
}
