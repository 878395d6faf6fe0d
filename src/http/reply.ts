/** Writes an Answer, or the refusal, as the HTTP response. */
import type { OutgoingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { GatewayError, toGatewayError } from '../errors.ts'
import type { Answer } from '../gateway/answer.ts'
import { dispose } from '../protocol/disposable.ts'
import { errorMessage } from '../protocol/make.ts'
import type { Message } from '../protocol/message.ts'
import { byteLength, bytes, latin1, parts, pieces } from '../protocol/write.ts'
import { facts } from '../telemetry/events.ts'
import { vary } from './cors.ts'
import { endBehind } from './last.ts'
import { openSse, type SseOptions } from './sse-reply.ts'

const json = 'application/json'

export interface ReplyOptions extends SseOptions {
  /** The gateway shuts down: connections are not used again. */
  leaving: boolean
}

export function writeAnswer(reply: FastifyReply, answer: Answer, options: ReplyOptions): void {
  if (options.leaving) reply.header('connection', 'close')
  switch (answer.kind) {
    case 'accepted':
      if (isPlain(reply, options)) writePlain(reply, 202, { 'content-length': 0, vary }, '')
      else reply.code(202).send()
      return
    case 'deleted':
      reply.code(204).send()
      return
    case 'message':
      // A reader that takes nothing is cut, and what waits for it let go (E1).
      if (!writeMessage(reply, answer, options) || reply.raw.writableLength > 0) reply.raw.setTimeout(options.stallMs)
      return
    case 'stream': {
      const headers = answer.session === undefined ? {} : { 'mcp-session-id': answer.session }
      answer.run(openSse(reply, headers, options))
    }
  }
}

/** Whether all of it is in the socket's hands now. */
function writeMessage(reply: FastifyReply, answer: MessageAnswer, options: ReplyOptions): boolean {
  const { body, session, status = 200 } = answer
  if (isSingle(body) && isPlain(reply, options)) {
    const length = byteLength(body)
    const small = { 'content-type': json, 'content-length': length, vary }
    const head = session === undefined ? small : { ...small, 'mcp-session-id': session }
    if (length < copyBelow) writePlain(reply, status, head, latin1(body))
    else writePieces(reply, status, head, body)
    return length < copyBelow
  }
  if (session !== undefined) reply.header('mcp-session-id', session)
  reply.code(status).header('content-type', json)
  return sendBody(reply, isSingle(body) ? parts(body) : batchParts(body))
}

type MessageAnswer = Extract<Answer, { kind: 'message' }>

const isSingle = (body: Message | readonly Message[]): body is Message => !Array.isArray(body)

/** Nothing was set on it but what every answer has. */
const isPlain = ({ request: { raw } }: FastifyReply, { leaving }: ReplyOptions): boolean =>
  !leaving && raw.headers.origin === undefined && raw.headers.upgrade === undefined

/**
 * The usual answer, in one write with its head: Node joins a string to it. Bytes that are read and written as Latin-1 are the
 * same bytes.
 */
function writePlain(reply: FastifyReply, status: number, head: OutgoingHttpHeaders, text: string): void {
  reply.hijack()
  reply.raw.writeHead(status, head)
  reply.raw.end(text, 'latin1')
}

/** The same with a body that is not copied into one. */
function writePieces(reply: FastifyReply, status: number, head: OutgoingHttpHeaders, message: Message): void {
  reply.hijack()
  const { raw } = reply
  raw.writeHead(status, head)
  const all = pieces(message)
  const last = all.pop()!
  for (const piece of all) raw.write(piece, 'latin1')
  // Nobody else has the answer to one request.
  raw.end(last, 'latin1', () => dispose(message.source))
}

/** Larger bodies are written in their parts, not copied into one. */
const copyBelow = 65_536

/** Whether all of it is in the socket's hands now. */
function sendBody(reply: FastifyReply, pieces: readonly Buffer[]): boolean {
  let length = 0
  for (const piece of pieces) length += piece.length
  if (length < copyBelow) {
    reply.send(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, length))
    return true
  }
  reply.header('content-length', length)
  reply.send(inPieces(pieces))
  return false
}

/** Readable.from makes a promise and a turn of the loop of each piece. */
function inPieces(pieces: readonly Buffer[]): Readable {
  return new Readable({
    read() {
      for (const piece of pieces) this.push(piece)
      this.push(null)
    }
  })
}

function batchParts(messages: readonly Message[]): Buffer[] {
  const pieces = messages.flatMap((message, i) => [i === 0 ? open : comma, ...parts(message)])
  pieces.push(close)
  return pieces
}

const open = Buffer.from('[')
const comma = Buffer.from(',')
const close = Buffer.from(']')

/** JSON-RPC body and status of a refusal; nothing inner is told. */
export function writeError(reply: FastifyReply, thrown: unknown): FastifyReply {
  const error = toGatewayError(thrown)
  if (error.code === 'internal')
    facts.notice.publish({ level: 'error', text: 'a fault of the gateway', error: error.cause })
  for (const [name, value] of Object.entries(error.headers)) reply.header(name, value)
  if (error.headers.connection === 'close') endBehind(reply.request.raw)
  return reply
    .code(error.status)
    .header('content-type', json)
    .send(bytes(errorMessage(error)))
}

/** What Fastify says in its own words, in ours. */
export function fromFastify(error: unknown): GatewayError {
  const { statusCode } = (error ?? {}) as { statusCode?: number }
  if (error instanceof GatewayError || statusCode === undefined || statusCode >= 500) return toGatewayError(error)
  return new GatewayError('header', 'the request is not valid', { headers: { connection: 'close' }, cause: error })
}
