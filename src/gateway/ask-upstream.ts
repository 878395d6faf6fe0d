/** A request of the gateway's own to an upstream. */
import type { Principal } from '../auth/principal.ts'
import type { Link } from '../backends/backend.ts'
import { GatewayError, toGatewayError } from '../errors.ts'
import { failureOf } from '../protocol/failure.ts'
import type { Message } from '../protocol/message.ts'
import { facts } from '../telemetry/events.ts'

export interface AskOptions {
  /** After which it is given up, milliseconds. */
  readonly timeoutMs: number
  readonly backend: string
  /** What the upstream says meanwhile. */
  readonly receive: (message: Message) => void
}

/**
 * Resolves to the response, which may be an error. Rejects with the GatewayError of an exchange that failed, `timeout`, or
 * `session` when the link was closed by whoever it was opened for: no fault of the upstream.
 */
export async function askUpstream(link: Link, request: Message, options: AskOptions): Promise<Message> {
  const { backend } = options
  const began = performance.now()
  const tell = (error: string | undefined): void => {
    if (!facts.operation.wanted) return
    facts.operation.publish({ backend, method: request.method!, durationMs: performance.now() - began, error })
  }
  try {
    const response = await asked(link, request, options)
    tell(errorOf(response))
    return response
  } catch (error) {
    tell(toGatewayError(error).code)
    throw error
  }
}

const errorOf = (response: Message): string | undefined =>
  response.scanned.top.keys.includes('error') ? failureOf(response)?.code : undefined

async function asked(link: Link, request: Message, options: AskOptions): Promise<Message> {
  const { timeoutMs, backend, receive } = options
  const exchange = link.exchange(request, { principal: own })
  let late = false
  const expire = (): void => {
    late = true
    exchange.cancel('took too long')
  }
  const timer = setTimeout(expire, timeoutMs)
  try {
    for await (const message of exchange) {
      if (message.kind === 'response') return message
      receive(message)
    }
  } finally {
    clearTimeout(timer)
  }
  if (late) {
    const text = `backend "${backend}" did not answer ${request.method} within ${timeoutMs} ms`
    throw new GatewayError('timeout', text, { backend })
  }
  throw new GatewayError('session', `the session that asked backend "${backend}" is over`, { backend })
}

const own: Principal = { key: 'gateway' }
