/** From a request that passed the checks to what the gateway takes, and its answer. */
import type { FastifyRequest } from 'fastify'
import type { Answer } from '../gateway/answer.ts'
import type { Incoming, IncomingGet, IncomingPost } from '../gateway/request.ts'
import { lastEventHeader, sessionHeader, versionHeader } from '../protocol/headers.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** To be told when the connection broke before the answer was written. */
    onGone: (() => void) | undefined
  }
}

/** The gateway as this layer sees it. Rejections are GatewayErrors. */
export interface Gateway {
  post(incoming: IncomingPost): Promise<Answer>
  get(incoming: IncomingGet): Promise<Answer>
  delete(incoming: Incoming): Promise<Answer>
}

/** `body`: of a POST; others have none. */
export function answerTo(request: FastifyRequest, body: Buffer, gateway: Gateway): Promise<Answer> {
  const incoming = new Arrived(request, body)
  const { method } = request.raw
  if (method === 'POST') return gateway.post(incoming)
  return method === 'GET' ? gateway.get(incoming) : gateway.delete(incoming)
}

class Arrived implements IncomingPost, IncomingGet {
  readonly route
  readonly principal
  readonly address
  readonly session
  readonly version
  readonly note
  readonly body
  readonly rawHeaders
  readonly accepts
  readonly lastEventId
  readonly #request: FastifyRequest

  constructor(request: FastifyRequest, body: Buffer) {
    this.#request = request
    this.route = request.route!
    this.principal = request.principal!
    this.address = request.ip
    this.session = header(request, sessionHeader)
    this.version = header(request, versionHeader)
    this.note = request.note
    this.body = body
    this.rawHeaders = request.raw.rawHeaders
    this.accepts = request.accepts
    this.lastEventId = header(request, lastEventHeader)
  }

  onGone(listener: () => void): void {
    this.#request.onGone = listener
  }
}

/** Stands once: that was checked. */
const header = ({ raw: { headers } }: FastifyRequest, name: string): string | undefined =>
  headers[name] as string | undefined
