/** Where messages go: what the `endpoint` event of an HTTP+SSE stream says (2024-11-05 basic/transports, "HTTP with SSE"). */
import { GatewayError } from '../../errors.ts'

const maxBytes = 4_096

/**
 * Resolved against the stream's URL. Whoever writes the stream must not choose where our headers are sent: another origin
 * is refused (`backend_invalid`).
 */
export function endpointOf(data: Buffer, stream: URL, backend: string): URL {
  const refuse = (what: string): GatewayError =>
    new GatewayError('backend_invalid', `backend "${backend}": its message endpoint ${what}`, { backend })
  if (data.length > maxBytes) throw refuse(`is longer than ${maxBytes} bytes`)
  const text = data.toString().trim()
  if (!URL.canParse(text, stream.href)) throw refuse('is no URL')
  const url = new URL(text, stream)
  if (url.origin !== stream.origin) throw refuse('has another origin than the stream')
  if (url.username !== '' || url.password !== '') throw refuse('carries credentials')
  return url
}
