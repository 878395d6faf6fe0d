/** What a fault of the upstream is to the caller. Nothing of the upstream's head or body is in it, and no address. */
import { type ErrorDetails, GatewayError } from '../../errors.ts'
import { type Message, textOf } from '../../protocol/message.ts'
import type { Fault } from './reader.ts'

export function errorOf(fault: Fault, backend: string): GatewayError {
  switch (fault.kind) {
    case 'unreached':
      return unavailable(backend, fault.cause)
    case 'broke':
      return broke(backend, fault.cause)
    case 'too_large':
      return new GatewayError('backend_too_large', `backend "${backend}" sent a message that is too large`, { backend })
    case 'invalid':
      return invalid(backend, fault.text)
    case 'status':
      return new GatewayError('backend_status', `backend "${backend}" answered with HTTP status ${fault.status}`, {
        backend,
        data: { status: fault.status }
      })
  }
}

export const unavailable = (backend: string, cause: unknown): GatewayError =>
  new GatewayError('backend_unavailable', `backend "${backend}" cannot be reached`, { backend, cause })

/** Something short got no answer. */
export const unanswered = (backend: string, cause: Error): GatewayError =>
  /TIMEOUT/.test(codeOf(cause)) && codeOf(cause) !== 'UND_ERR_CONNECT_TIMEOUT'
    ? new GatewayError('timeout', `backend "${backend}" did not answer in time`, { backend, cause })
    : unavailable(backend, cause)

export const broke = (backend: string, cause?: unknown): GatewayError =>
  new GatewayError('backend_broke', `backend "${backend}" broke off before the response`, { backend, cause })

export const invalid = (backend: string, what: string, details: ErrorDetails = {}): GatewayError =>
  new GatewayError('backend_invalid', `backend "${backend}" gave an answer that is no valid message: ${what}`, {
    backend,
    ...details
  })

export const sessionLost = (backend: string): GatewayError =>
  new GatewayError('backend_session_lost', `backend "${backend}" does not know its session any more`, { backend })

export const overloaded = (backend: string): GatewayError =>
  new GatewayError('overloaded', `too many calls of backend "${backend}" are in flight`, { backend })

/** Header mismatch, or unsupported version: codes that modern servers alone use (2026-07-28 basic/index, "Error Codes"). */
export const isModernRefusal = (error: Message): boolean => [-32020, -32022].includes(rpcCodeOf(error))

/** `code` of a JSON-RPC error. */
export function rpcCodeOf({ source, scanned }: Message): number {
  const error = JSON.parse(textOf(source, scanned.top, 'error')!) as { code?: unknown } | null
  return Number(error?.code)
}

/** Names a cause to the operator. */
export const codeOf = (cause: Error): string =>
  'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name
