import { makeRequest } from '../../protocol/make.ts'
import type { Conversation } from './conversation.ts'
import type { Running } from './running.ts'

/** A request to the client within a call; resolves to its result. Rejects with a ClientError, or when the call is over. */
export const ask = (
  conversation: Conversation,
  running: Running,
  method: string,
  params?: unknown
): Promise<unknown> => {
  const id = conversation.nextId()
  conversation.asking.set(id, { running, id })
  return running.ask(id, makeRequest(id, method, params)).finally(() => conversation.asking.delete(id))
}

export const objectOf = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
