/** Writes an Answer, or the refusal, as the HTTP response. */
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { GatewayError, toGatewayError } from '../errors.ts'
import type { Answer } from '../gateway/answer.ts'
import { errorMessage } from '../protocol/make.ts'
import { byteLength, bytes, type Message, parts } from '../protocol/message.ts'
import { facts } from '../telemetry/events.ts'
import { openSse, type SseOptions } from './sse-reply.ts'

const json = 'application/json'

export function writeAnswer(reply: FastifyReply, answer: Answer, options: SseOptions): FastifyReply | undefined {
  switch (answer.kind) {
    case 'accepted':
      return reply.code(202).send()
    case 'deleted':
      return reply.code(204).send()
    case 'message': {
      if (answer.session !== undefined) reply.header('mcp-session-id', answer.session)
      reply.header('content-type', json)
      return isSingle(answer.body) ? sendMessage(reply, answer.body) : reply.send(batchBody(answer.body))
    }
    case 'stream': {
      const headers = answer.session === undefined ? {} : { 'mcp-session-id': answer.session }
      answer.run(openSse(reply, headers, options))
      return undefined
    }
  }
}

const isSingle = (body: Message | readonly Message[]): body is Message => !Array.isArray(body)

/** Larger messages are written in their parts, not copied into one. */
const copyBelow = 65_536

function sendMessage(reply: FastifyReply, message: Message): FastifyReply {
  if (byteLength(message) < copyBelow) return reply.send(bytes(message))
  reply.header('content-length', byteLength(message))
  return reply.send(Readable.from(parts(message), { objectMode: false }))
}

function batchBody(messages: readonly Message[]): Buffer {
  const pieces = messages.flatMap((message, i) => [Buffer.from(i === 0 ? '[' : ','), ...parts(message)])
  return Buffer.concat([...pieces, Buffer.from(']')])
}

/** JSON-RPC body and status of a refusal; nothing inner is told. */
export function writeError(reply: FastifyReply, thrown: unknown): FastifyReply {
  const error = toGatewayError(thrown)
  if (error.code === 'internal')
    facts.notice.publish({ level: 'error', text: 'a fault of the gateway', error: error.cause })
  for (const [name, value] of Object.entries(error.headers)) reply.header(name, value)
  return reply
    .code(error.status)
    .header('content-type', json)
    .send(bytes(errorMessage(error)))
}

/** What Fastify and Node say in their own words, in ours. */
export function fromFastify(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  const code = (error as { code?: string } | null)?.code
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new GatewayError('too_large', 'the body is larger than server.limits.body', {
      headers: { connection: 'close' }
    })
  }
  if (code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH') {
    return new GatewayError('header', 'the body is shorter or longer than its Content-Length', {
      headers: { connection: 'close' }
    })
  }
  return toGatewayError(error)
}
