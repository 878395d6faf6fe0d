/** The question that tells the eras apart on one pipe (2026-07-28 basic/transports/stdio, "Backward Compatibility"). */
import { GatewayError } from '../errors.ts'
import { type Asking, completed } from '../protocol/envelope.ts'
import { makeRequest } from '../protocol/make.ts'
import type { Message } from '../protocol/message.ts'
import { latestModern } from '../protocol/version.ts'
import type { Correlator } from './correlate.ts'
import type { Verdict } from './era.ts'
import type { Queue } from './queue.ts'
import { verdictOf } from './verdict.ts'

export interface Question {
  /** Rejects with a GatewayError: the pipe broke, or the upstream is modern and of no use. */
  readonly verdict: Promise<Verdict>
  /** The answer is not wanted any more; the upstream is not told, the verdict stays open. */
  giveUp(): void
}

export function askEra(pipe: Correlator, backend: string, self: Asking): Question {
  let exchange: Queue
  const once = async (): Promise<Message> => {
    exchange = pipe.exchange(completed(makeRequest('0', 'server/discover'), latestModern, self))
    for await (const message of exchange) if (message.kind === 'response') return message
    return new Promise(() => {})
  }
  const ask = async (): Promise<Verdict> => {
    const first = verdictOf(await once(), backend)
    if (first !== 'again') return first
    const second = verdictOf(await once(), backend)
    if (second !== 'again') return second
    const text = `backend "${backend}": it lists a protocol version that it does not speak`
    throw new GatewayError('backend_invalid', text, { backend })
  }
  return { verdict: ask(), giveUp: () => exchange.detach() }
}
