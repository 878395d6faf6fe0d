/** From a request that passed the checks to what the gateway takes, and its answer. */
import type { FastifyRequest } from 'fastify'
import type { Answer } from '../gateway/answer.ts'
import type { Incoming, IncomingGet, IncomingPost } from '../gateway/request.ts'
import { lastEventHeader, sessionHeader, versionHeader } from '../protocol/headers.ts'

/** The gateway as this layer sees it. Rejections are GatewayErrors. */
export interface Gateway {
  post(incoming: IncomingPost): Promise<Answer>
  get(incoming: IncomingGet): Promise<Answer>
  delete(incoming: Incoming): Promise<Answer>
}

export function answerTo(request: FastifyRequest, gateway: Gateway): Promise<Answer> {
  const incoming: IncomingPost & IncomingGet = {
    route: request.route!,
    principal: request.principal!,
    address: request.ip,
    session: header(request, sessionHeader),
    version: header(request, versionHeader),
    note: request.note,
    body: (request.body as Buffer | undefined) ?? empty,
    accepts: request.accepts,
    lastEventId: header(request, lastEventHeader)
  }
  const { method } = request.raw
  if (method === 'POST') return gateway.post(incoming)
  return method === 'GET' ? gateway.get(incoming) : gateway.delete(incoming)
}

/** Stands once: that was checked. */
const header = ({ raw: { headers } }: FastifyRequest, name: string): string | undefined =>
  headers[name] as string | undefined

const empty = Buffer.alloc(0)
