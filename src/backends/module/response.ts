/** Responses as they go out. */
import { makeError } from '../../protocol/make.ts'
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
