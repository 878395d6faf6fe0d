/** Responses as they go out. */
import type { ClientFacts } from '../../handlers/context.ts'
import { ClientError, type MissingCapabilityError } from '../../handlers/errors.ts'
import { failed } from '../../handlers/result.ts'
import { makeError, makeResult } from '../../protocol/make.ts'
import { type Message, readMessage } from '../../protocol/message.ts'

/** Nesting of an answer. */
const maxDepth = 1_000

/** A result that is JSON text already. */
export class Json {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export const resultMessage = (id: string, { text }: Json): Message =>
  readMessage(Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${text}}`), maxDepth)

/** `data` may be something that JSON cannot say. */
export function errorMessage(
  id: string,
  { code, message, data }: { readonly code: number; readonly message: string; readonly data: unknown }
): Message {
  const known = Number.isInteger(code) ? code : -32603
  try {
    return makeError(id, known, message, data)
  } catch {
    return makeError(id, known, message)
  }
}

/** Of a handler that threw where no result says so. */
export const failureMessage = (id: string, error: unknown): Message =>
  error instanceof ClientError
    ? errorMessage(id, error)
    : makeError(id, -32603, error instanceof Error ? error.message : 'The handler failed.')

/** The client did not declare what the call needs; only modern ones have a code for it (2026-07-28 basic/index, "Error Codes"). */
export const missingMessage = (
  id: string,
  { message, requiredCapabilities }: MissingCapabilityError,
  { era }: ClientFacts
): Message => errorMessage(id, { code: era === 'modern' ? -32021 : -32603, message, data: { requiredCapabilities } })

/** Of a handler that threw where nobody caught it: a tool's is a result, as if it had thrown in its call. */
export function faultMessage({ id, method }: Message, error: unknown): Message {
  const text = error instanceof Error ? error.message : String(error)
  return method === 'tools/call' ? makeResult(id!, failed(text)) : makeError(id, -32603, text)
}
