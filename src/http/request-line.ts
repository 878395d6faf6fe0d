/** The request line of the log: one fact for each HTTP request, told when its response is over. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { facts } from '../telemetry/events.ts'

/** What is said of a client that left before the head of its response was written. */
const clientClosed = 499

export function tell(request: FastifyRequest, { raw }: FastifyReply): void {
  if (!facts.request.wanted) return
  const { note } = request
  facts.request.publish({
    id: request.id,
    route: request.route?.path ?? '',
    http: request.method,
    status: raw.headersSent ? raw.statusCode : clientClosed,
    method: note.method,
    name: note.name,
    backend: note.backend,
    session: note.session,
    version: note.version,
    outcome: raw.headersSent ? (note.outcome ?? 'ok') : 'cancelled',
    error: note.error,
    durationMs: performance.now() - request.started,
    address: request.ip
  })
}
