/** What never became a request: Node's parser or one of its time limits gave it up. A minimal answer, then the end. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { GatewayError } from '../errors.ts'
import { errorMessage } from '../protocol/make.ts'
import { bytes } from '../protocol/write.ts'

const bodyOf = (text: string): Buffer => bytes(errorMessage(new GatewayError('header', text)))

/** Made once: thousands of slow clients are given up in one turn of the event loop. */
function answerOf(status: number, text: string): string {
  const body = bodyOf(text)
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
  )
}

const answers: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: answerOf(431, 'the head of the request is too large'),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: answerOf(413, 'the chunk extensions are too large'),
  ERR_HTTP_REQUEST_TIMEOUT: answerOf(408, 'the request took too long to arrive')
}

const malformed = answerOf(400, 'the request is not valid HTTP/1.1')

export function onClientError(error: Error & { code?: string }, socket: Socket): void {
  if (!canAnswer(socket)) {
    socket.destroy()
    return
  }
  socket.write(answers[error.code ?? ''] ?? malformed)
  socket.destroySoon()
}

/** What Node keeps of the request that is being read, and of the response whose turn it is. */
interface Current {
  readonly _httpMessage?: ServerResponse | null
  readonly parser?: { readonly incoming?: IncomingMessage | null } | null
}

/**
 * Not when a response is on its way, or was sent before all of its request came: what is written would be part of it, or pass
 * for the answer to another request.
 */
function canAnswer(socket: Socket): boolean {
  if (!socket.writable) return false
  const { _httpMessage: response, parser } = socket as Current
  if (response === undefined || response === null) return parser?.incoming?.complete !== false
  return !response.headersSent && !response.req.complete
}
