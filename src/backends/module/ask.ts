import { makeRequest } from '../../protocol/make.ts'
import { Asked } from './asked.ts'
import type { Conversation } from './conversation.ts'
import type { Running } from './running.ts'

/** A request to the client within a call; resolves to its result. Rejects with a ClientError, or when the call is over. */
export const ask = (
  conversation: Conversation,
  running: Running,
  method: string,
  params?: unknown
): Promise<unknown> => {
  if (running.over !== undefined) return Promise.reject(running.over)
  const id = conversation.nextId()
  const asked = new Asked(id, running, conversation.asking)
  running.ask(makeRequest(id, method, params))
  return asked.answer
}

export const objectOf = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
