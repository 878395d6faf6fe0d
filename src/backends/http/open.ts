/** The handshake: initialize and its notification (basic/lifecycle, "Initialization"). */
import { GatewayError } from '../../errors.ts'
import { makeNotification } from '../../protocol/make.ts'
import { isError, type Message, readMessage, textOf } from '../../protocol/message.ts'
import { isVersion, latestLegacy } from '../../protocol/version.ts'
import { bytes } from '../../protocol/write.ts'
import { facts } from '../../telemetry/events.ts'
import type { OpenOptions } from '../backend.ts'
import { type Home, HttpExchange } from './exchange.ts'
import { codeOf, invalid, unavailable } from './faults.ts'
import { legHeaders, sessionIdOf } from './headers.ts'
import type { LinkFacts } from './state.ts'
import type { Wire } from './wire.ts'

/** Ids of requests after the handshake begin after this one. */
export const initializeId = 1

/** Rejects with a GatewayError; then the upstream was told to forget a session that it may have opened. */
export async function handshake(
  wire: Wire,
  options: OpenOptions,
  configured: Readonly<Record<string, string>>
): Promise<LinkFacts> {
  const home: Home = {
    wire,
    get headers() {
      return legHeaders(configured, sessionIdOf(exchange.session), undefined)
    },
    session: undefined,
    met: false,
    lost: () => {},
    cancelled: () => {},
    pong: () => {},
    forget: () => {}
  }
  const exchange: HttpExchange = new HttpExchange(home, String(initializeId), { id: String(initializeId) })
  exchange.send(initialize(options))
  const response = await within(wire, options.signal, exchange, responseOf(exchange, options))
  const session = sessionIdOf(exchange.session)
  try {
    if (exchange.session !== undefined && session === undefined) {
      throw invalid(wire.name, 'its session id has characters that are not visible ASCII, or is too long')
    }
    return { session, ...resultOf(response, wire.name) }
  } catch (error) {
    if (session !== undefined) forget(wire, legHeaders(configured, session, undefined).delete)
    throw error
  }
}

/** How long (ms) an upstream may take to acknowledge that the client is ready. */
const readyMs = 5_000

/** Says that the client is ready. Whatever the upstream answers, the session is used (case HDR-06). */
export async function initialized(wire: Wire, headers: readonly string[]): Promise<void> {
  const text = bytes(makeNotification('notifications/initialized'))
  const status = await wire.control('POST', [...headers], text, Math.min(wire.timeout, readyMs)).catch(codeOf)
  if (typeof status === 'number' && status < 300) return
  facts.notice.publish({
    level: 'warn',
    text: `notifications/initialized was answered with ${typeof status === 'number' ? `HTTP status ${status}` : status}`,
    backend: wire.name
  })
}

const initialize = ({ client }: OpenOptions): Message =>
  readMessage(
    Buffer.from(
      `{"jsonrpc":"2.0","id":${initializeId},"method":"initialize","params":{"protocolVersion":"${latestLegacy}",` +
        `"capabilities":${client.capabilities},"clientInfo":${client.info}}}`
    ),
    1_000
  )

async function responseOf(exchange: HttpExchange, options: OpenOptions): Promise<Message> {
  for (;;) {
    const { value } = await exchange.queue.next()
    if (value === undefined || value.kind === 'response') return value
    if (value.kind === 'notification') options.receive(value)
  }
}

/** The opening is bounded by the time-out and by the caller; given up, it is dropped: `initialize` is never cancelled. */
function within<T>(wire: Wire, signal: AbortSignal, exchange: HttpExchange, answer: Promise<T>): Promise<T> {
  const { name, timeout } = wire
  return new Promise((resolve, reject) => {
    const giveUp = (error: GatewayError): void => {
      done()
      exchange.queue.detach()
      reject(error)
    }
    const aborted = (): void => giveUp(unavailable(name, signal.reason))
    const timer = setTimeout(() => {
      giveUp(new GatewayError('timeout', `backend "${name}" did not answer initialize in time`, { backend: name }))
    }, timeout)
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', aborted)
    }
    answer.then(resolve, reject).finally(done)
    signal.addEventListener('abort', aborted)
    if (signal.aborted) aborted()
  })
}

function resultOf(response: Message, backend: string): { version: string; result: string } {
  if (isError(response)) {
    const error = JSON.parse(textOf(response.source, response.scanned.top, 'error')!) ?? {}
    throw new GatewayError('backend_unavailable', `backend "${backend}" refused initialize`, {
      backend,
      data: { code: error.code },
      cause: new Error(String(error.message))
    })
  }
  const result = textOf(response.source, response.scanned.top, 'result')!
  const value = JSON.parse(result)
  const version = value?.protocolVersion
  if (typeof version !== 'string') throw invalid(backend, 'its InitializeResult has no protocolVersion')
  if (!isVersion(version)) {
    throw invalid(backend, `it speaks protocol version ${JSON.stringify(version.slice(0, 40))}, which is unknown here`)
  }
  return { version, result }
}

function forget(wire: Wire, headers: string[]): void {
  wire.control('DELETE', headers, null).catch(() => {})
}
