import { makeRequest } from '../../protocol/make.ts'
import { askId } from '../ask-id.ts'
import { Asked } from './asked.ts'
import type { Conversation } from './conversation.ts'
import type { Running } from './running.ts'

/** What the client is asked; `key` is what the author calls it. */
export interface Question {
  readonly method: string
  readonly params?: unknown
  readonly key: string | undefined
}

/**
 * A request to the client within a call; resolves to its result. Rejects with a ClientError, when the call is over, and for a
 * key that is none or in use.
 */
export async function ask(conversation: Conversation, running: Running, question: Question): Promise<unknown> {
  if (running.over !== undefined) throw running.over
  const { method, params } = question
  const { asked } = running
  const { inputs, client } = running.caller
  const key = inputs.key(method, question.key, key => [...asked.values()].some(open => open.key === key))
  const known = inputs.take(key)
  if (known !== undefined) return known
  const number = conversation.nextId()
  const id = client.era === 'modern' ? askId(number, key) : number
  const { answer } = new Asked(id, key, running, conversation.asking)
  running.ask(makeRequest(id, method, params))
  return answer
}

export const objectOf = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
