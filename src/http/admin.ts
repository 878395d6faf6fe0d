/** The listener for operators: health, metrics, broadcast. For loopback or a private network; it has no authentication. */
import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { type ErrorCode, GatewayError } from '../errors.ts'
import type { Message } from '../protocol/message.ts'
import { facts } from '../telemetry/events.ts'
import { readBroadcast } from './broadcast.ts'
import { hostCheck } from './host.ts'

/** The gateway as the admin listener sees it. */
export interface AdminTarget {
  /** Whether it takes calls: not while it starts, not while it drains. */
  ready(): boolean
  /** What `/readyz?verbose` says besides: `state`, `backends` with `{name, kind, state, lastError, inflight}`. No secrets. */
  status(): object | Promise<object>
  metrics(): Promise<{ readonly contentType: string; readonly text: string }>
  /** Resolves with the number of sessions that it was handed to. Rejects with GatewayError `path` for an unknown route. */
  broadcast(route: string, notification: Message): Promise<number>
}

export interface AdminOptions {
  /** Host names accepted besides loopback and addresses: the name that a scraper uses. */
  readonly allowedHosts?: readonly string[]
  /** Bytes of a request body; 64 KiB. */
  readonly bodyLimit?: number
}

export interface Admin {
  /** Rejects when the address cannot be had. */
  listen(host: string, port: number): Promise<AddressInfo>
  close(): Promise<void>
}

const defaultBodyLimit = 64 * 1024

/** Nothing here takes long to send. */
const requestTimeout = 10_000
const maxConnections = 256

const paths: Readonly<Record<string, string>> = {
  '/healthz': 'GET, HEAD',
  '/readyz': 'GET, HEAD',
  '/metrics': 'GET, HEAD',
  '/broadcast': 'POST'
}

export const createAdmin = async (target: AdminTarget, options: AdminOptions = {}): Promise<Admin> => {
  const server = Fastify({
    bodyLimit: options.bodyLimit ?? defaultBodyLimit,
    requestTimeout,
    forceCloseConnections: true
  })
  server.server.maxConnections = maxConnections
  guard(server, options.allowedHosts ?? [])
  health(server, target)
  broadcast(server, target)
  errors(server)
  await server.ready()
  return {
    async listen(host, port) {
      await server.listen({ host, port })
      return server.server.address() as AddressInfo
    },
    close: () => server.close()
  }
}

/** Before anything else: web pages, also those that made their name point here (DNS rebinding), get nothing. */
const guard = (server: FastifyInstance, allowedHosts: readonly string[]): void => {
  const checkHost = hostCheck(undefined, allowedHosts)
  server.addHook('onRequest', async (request, reply) => {
    reply.headers({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff'
    })
    // No browser leaves Host out; health checks in HTTP/1.0 do.
    const { host } = request.headers
    if (host !== undefined) checkHost(host)
    if (request.headers.origin !== undefined) throw new GatewayError('origin', 'web pages may not use this listener')
  })
}

const health = (server: FastifyInstance, target: AdminTarget): void => {
  server.get('/healthz', async () => ({ status: 'ok' }))
  server.get('/readyz', async (request, reply) => {
    const ready = target.ready()
    reply.code(ready ? 200 : 503)
    const verbose = 'verbose' in (request.query as object)
    return { ready, ...(verbose ? await target.status() : {}) }
  })
  server.get('/metrics', async (_request, reply) => {
    const { contentType, text } = await target.metrics()
    return reply.type(contentType).send(text)
  })
}

const broadcast = (server: FastifyInstance, target: AdminTarget): void => {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  server.post('/broadcast', async (request, reply) => {
    if (!Buffer.isBuffer(request.body)) throw new GatewayError('params', 'the body must be a JSON object')
    const { route, notification } = readBroadcast(request.body)
    return reply.code(202).send({ sessions: await target.broadcast(route, notification) })
  })
}

const codes: Readonly<Record<number, ErrorCode>> = { 413: 'too_large', 415: 'media_type' }

const errors = (server: FastifyInstance): void => {
  server.setNotFoundHandler(async (request, reply) => {
    const allow = paths[request.url.split('?', 1)[0]!]
    if (allow === undefined) throw new GatewayError('path', `there are ${Object.keys(paths).join(', ')}`)
    return refuse(reply.header('allow', allow), 405, 'http_method', `only ${allow}`)
  })
  server.setErrorHandler(async (error: Error & { statusCode?: number }, request, reply) => {
    if (error instanceof GatewayError && error.code !== 'internal') {
      // Here an error is the whole answer: where MCP says it inside a 200, this says it by status.
      return refuse(reply, error.status === 200 ? 400 : error.status, error.code, error.message)
    }
    const status = error.statusCode ?? 500
    if (status < 500) return refuse(reply, status, codes[status] ?? 'invalid', error.message)
    report(request, error)
    return refuse(reply, 500, 'internal', 'internal error')
  })
}

const refuse = (reply: FastifyReply, status: number, code: string, message: string): FastifyReply =>
  reply.code(status).send({ error: { code, message } })

const report = (request: FastifyRequest, error: unknown): void => {
  facts.notice.publish({ level: 'error', text: `admin: ${request.method} ${request.routeOptions.url} failed`, error })
}
