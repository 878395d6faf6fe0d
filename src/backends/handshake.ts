/** `initialize` and `notifications/initialized` on one pipe (2025-11-25 basic/lifecycle, "Initialization"). */
import { GatewayError } from '../errors.ts'
import { makeNotification } from '../protocol/make.ts'
import { isError, type Message, readMessage, textOf } from '../protocol/message.ts'
import { isVersion } from '../protocol/version.ts'
import type { Client } from '../sessions/session.ts'
import type { Exchange, Server } from './backend.ts'
import type { Correlator } from './correlate.ts'

export interface Handshake {
  readonly backend: string
  /** Offered; the upstream may answer with another that this gateway speaks. */
  readonly version: string
  readonly client: Pick<Client, 'capabilities' | 'info'>
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Requests and logs that came before the answer. */
  readonly receive: (message: Message) => void
}

/**
 * Rejects with `timeout`, `backend_unavailable` (refused), `backend_invalid` (a version that is not spoken here),
 * or whatever broke the pipe. `initialize` is never cancelled: giving up tells nobody.
 */
export async function handshake(pipe: Correlator, options: Handshake): Promise<Server> {
  const { backend, version, client } = options
  const exchange = pipe.exchange(
    readMessage(
      Buffer.from(
        `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":${JSON.stringify(version)},` +
          `"capabilities":${client.capabilities},"clientInfo":${client.info}}}`
      ),
      1_000
    )
  )
  const { promise: givenUp, reject } = Promise.withResolvers<never>()
  const onAbort = (): void => {
    const { reason: cause } = options.signal
    reject(
      new GatewayError('backend_unavailable', `the opening of backend "${backend}" was given up`, { backend, cause })
    )
  }
  const timer = setTimeout(() => {
    reject(new GatewayError('timeout', `backend "${backend}" did not answer initialize in time`, { backend }))
  }, options.timeoutMs)
  options.signal.addEventListener('abort', onAbort)
  if (options.signal.aborted) onAbort()
  try {
    const server = await Promise.race([serverOf(exchange, options), givenUp])
    await Promise.race([pipe.send(makeNotification('notifications/initialized')), givenUp])
    return server
  } finally {
    clearTimeout(timer)
    options.signal.removeEventListener('abort', onAbort)
    exchange.detach()
  }
}

async function serverOf(exchange: Exchange, { backend, receive }: Handshake): Promise<Server> {
  for await (const message of exchange) {
    if (message.kind !== 'response') {
      receive(message)
      continue
    }
    const { source, scanned } = message
    if (isError(message)) {
      const error = JSON.parse(textOf(source, scanned.top, 'error')!) ?? {}
      throw new GatewayError('backend_unavailable', `backend "${backend}" refused initialize`, {
        backend,
        data: { code: error.code },
        cause: new Error(String(error.message))
      })
    }
    const result = textOf(source, scanned.top, 'result')!
    return read(result, backend)
  }
  throw invalid(backend, 'it does not answer initialize')
}

function read(result: string, backend: string): Server {
  const value = JSON.parse(result) as { protocolVersion?: unknown; capabilities?: unknown } | null
  const version = value?.protocolVersion
  if (typeof version !== 'string') {
    throw invalid(backend, 'its InitializeResult has no protocolVersion')
  }
  if (!isVersion(version)) {
    throw invalid(backend, `it speaks protocol version ${JSON.stringify(version.slice(0, 40))}, which is unknown here`)
  }
  const capabilities = value?.capabilities
  return { version, capabilities: isObject(capabilities) ? capabilities : {}, result }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const invalid = (backend: string, text: string): GatewayError =>
  new GatewayError('backend_invalid', `backend "${backend}": ${text}`, { backend })
