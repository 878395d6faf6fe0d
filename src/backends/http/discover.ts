/** The question that tells the eras apart over HTTP: a modern request, whose refusal is looked at (2026-07-28 basic/transports/streamable-http, "Backward Compatibility"). */
import { GatewayError } from '../../errors.ts'
import { makeRequest } from '../../protocol/make.ts'
import type { Message } from '../../protocol/message.ts'
import { legacyVerdict, type Verdict } from '../era.ts'
import { verdictOf } from '../verdict.ts'
import { broke, invalid } from './faults.ts'
import type { Modern } from './modern.ts'

/** Rejects with a GatewayError where nothing can be said: no connection, no answer in time, a status of 500 or more. */
export async function askEra(modern: Modern): Promise<Verdict> {
  const { name } = modern.wire
  const first = await answerOf(modern)
  if (first === undefined) return legacyVerdict
  const verdict = verdictOf(first, name)
  if (verdict !== 'again') return verdict
  const second = await answerOf(modern)
  const last = second === undefined ? legacyVerdict : verdictOf(second, name)
  if (last === 'again') throw invalid(name, 'it lists a protocol version that it does not speak')
  return last
}

/** Undefined: refused in a way that no modern server has. */
async function answerOf(modern: Modern): Promise<Message | undefined> {
  const exchange = modern.probe(makeRequest('0', 'server/discover'))
  const { name, timeout } = modern.wire
  let late = false
  const timer = setTimeout(() => {
    late = true
    exchange.cancel('took too long')
  }, timeout)
  try {
    for await (const message of exchange) if (message.kind === 'response') return message
  } catch (error) {
    if (error instanceof GatewayError && isRefusal(error)) return undefined
    throw error
  } finally {
    clearTimeout(timer)
  }
  if (late)
    throw new GatewayError('timeout', `backend "${name}" did not answer server/discover in time`, { backend: name })
  throw broke(name)
}

/** An answer of another kind, or a status from 400 to 499. */
function isRefusal({ code, data }: GatewayError): boolean {
  if (code === 'backend_invalid') return true
  return code === 'backend_status' && Number(data.status) >= 400 && Number(data.status) < 500
}
