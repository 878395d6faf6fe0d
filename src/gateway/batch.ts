/** Which batches are taken (basic/transports of 2025-03-26; decisions: "Batch"). Nothing of a refused one runs. */
import { GatewayError } from '../errors.ts'
import type { Message } from '../protocol/message.ts'
import { hasBatch } from '../protocol/version.ts'

export function checkBatch(elements: readonly (Message | GatewayError)[], version: string, max: number): void {
  const refuse = (text: string): never => {
    throw new GatewayError('invalid', text)
  }
  if (!hasBatch(version)) refuse(`${version} has no batches: send one message per request`)
  if (elements.length === 0) refuse('the batch is empty')
  if (elements.length > max) refuse(`the batch has more than ${max} messages`)
  const messages = elements.filter((element): element is Message => !(element instanceof GatewayError))
  if (messages.some(message => message.method === 'initialize')) refuse('initialize cannot be part of a batch')
  const kinds = new Set(messages.map(message => message.kind))
  if (kinds.has('request') && kinds.has('response')) refuse('a batch has requests or responses, not both')
}
