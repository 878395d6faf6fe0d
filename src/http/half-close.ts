/**
 * Clients that end their side of the connection. A bare FIN is no disconnect: it may only say that no more requests come.
 * Something is written at once, and what comes back decides: a peer that is gone answers with a reset, and the second write
 * finds it (decisions: "Cancel, disconnect, drain"; E7).
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { sseReplyOf } from './sse-reply.ts'

/** Time for the reset to come, in milliseconds: both writes are within the 100 ms that a disconnect may go unnoticed. */
const resetMs = 40

export function allowHalfClose(server: Server): void {
  // Without it Node ends our side too, and the response with it.
  ;(server as { httpAllowHalfOpen?: boolean }).httpAllowHalfOpen = true
  server.on('connection', (socket: Socket) => socket.on('end', onEnd))
}

function onEnd(this: Socket): void {
  if (isCutOff(this)) {
    this.destroy()
    return
  }
  if (!probe(this)) return
  const again = setTimeout(probe, resetMs, this)
  again.unref()
  this.once('close', () => clearTimeout(again))
}

/** The rest of a request will not come, and Node did not say so: it swallows what is wrong with one that asks for an upgrade. */
function isCutOff(socket: Socket): boolean {
  const { parser } = socket as { parser?: { readonly incoming?: IncomingMessage | null } | null }
  return parser?.incoming?.complete === false && !socket.writableEnded
}

/** Writes what means nothing. False when no response is under way, or one that writes by itself. */
function probe(socket: Socket): boolean {
  const response = (socket as { _httpMessage?: ServerResponse | null })._httpMessage
  if (response === undefined || response === null || response.destroyed) return false
  if (response.headersSent) {
    const stream = sseReplyOf(response)
    stream?.comment()
    return stream !== undefined
  }
  // HTTP/1.0 has no interim responses.
  if (response.req.httpVersionMinor === 0) return false
  response.writeProcessing()
  return true
}
