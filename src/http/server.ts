/**
 * The listener for clients: Fastify in front, the gateway as three functions behind. The hooks settle, in the order of
 * decisions ("Order of checks"): path, repeated headers, Host, Origin, preflight, authentication, method, media types, size.
 */
import type { Socket } from 'node:net'
import cors from '@fastify/cors'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Authenticator, Principal } from '../auth/principal.ts'
import { GatewayError } from '../errors.ts'
import type { Answer } from '../gateway/answer.ts'
import type { Incoming, IncomingGet, IncomingPost, Note } from '../gateway/request.ts'
import type { Route } from '../gateway/route.ts'
import { facts } from '../telemetry/events.ts'
import { checkHeaders } from './headers.ts'
import { hostCheck } from './host.ts'
import { KeepAlive } from './keep-alive.ts'
import { type Accepts, accepts, checkContentType } from './media.ts'
import { originCheck } from './origin.ts'
import { fromFastify, writeAnswer, writeError } from './reply.ts'
import type { SseOptions } from './sse-reply.ts'

/** The gateway as this layer sees it. Rejections are GatewayErrors. */
export interface Gateway {
  post(incoming: IncomingPost): Promise<Answer>
  get(incoming: IncomingGet): Promise<Answer>
  delete(incoming: Incoming): Promise<Answer>
}

/** Milliseconds and bytes. */
export interface ServerOptions {
  readonly host: string
  readonly publicUrl: string | undefined
  readonly allowedOrigins: readonly string[] | undefined
  readonly allowedHosts: readonly string[]
  readonly trustProxy: readonly string[]
  readonly bodyLimit: number
  readonly maxConnections: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveMs: number
  readonly stallMs: number
  readonly highWater: number
}

export interface HttpServer {
  /** Resolves to the port. */
  listen(port: number): Promise<number>
  /** Takes no more connections; idle ones end. */
  stopAccepting(): void
  /** Open event streams. */
  readonly streams: number
  close(): Promise<void>
}

declare module 'fastify' {
  interface FastifyRequest {
    started: number
    note: Note
    principal: Principal | undefined
    accepts: Accepts
  }
}

const allow = 'GET, POST, DELETE, OPTIONS'

export async function createServer(
  gateway: Gateway,
  routes: readonly Route[],
  authenticator: Authenticator,
  options: ServerOptions
): Promise<HttpServer> {
  const keepAlive = new KeepAlive({ everyMs: options.keepAliveMs, stallMs: options.stallMs })
  const app = fastify({
    logger: false,
    bodyLimit: options.bodyLimit,
    requestTimeout: options.requestTimeoutMs,
    keepAliveTimeout: 72_000,
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    trustProxy: options.trustProxy.length === 0 ? false : [...options.trustProxy],
    routerOptions: { ignoreTrailingSlash: false, ignoreDuplicateSlashes: false, caseSensitive: true },
    http: { maxHeaderSize: 16_384, headersTimeout: options.headersTimeoutMs, connectionsCheckingInterval: 2_000 },
    frameworkErrors: (_error, _request, reply) => void writeError(reply, notFound())
  })
  app.server.maxConnections = options.maxConnections
  app.server.maxHeadersCount = 100
  ;(app.server as { httpAllowHalfOpen?: boolean }).httpAllowHalfOpen = true
  app.server.on('connection', onHalfClose)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setNotFoundHandler((_request, reply) => writeError(reply, notFound()))
  app.setErrorHandler((error, request, reply) => {
    const ours = fromFastify(error)
    request.note.outcome = 'rejected'
    request.note.error = ours.code
    return writeError(reply, ours)
  })
  app.decorateRequest('started', 0)
  app.decorateRequest('note')
  app.decorateRequest('principal', undefined)
  app.decorateRequest('accepts')
  const sse: SseOptions = { keepAlive, highWater: options.highWater }
  await app.register(endpoints, { gateway, routes, authenticator, options, sse })
  await app.ready()
  return {
    async listen(port) {
      await app.listen({ host: options.host, port })
      return (app.server.address() as { port: number }).port
    },
    stopAccepting() {
      app.server.close()
      app.server.closeIdleConnections()
    },
    get streams() {
      return keepAlive.size
    },
    async close() {
      keepAlive.close()
      await app.close()
    }
  }
}

interface Endpoints {
  readonly gateway: Gateway
  readonly routes: readonly Route[]
  readonly authenticator: Authenticator
  readonly options: ServerOptions
  readonly sse: SseOptions
}

async function endpoints(
  app: FastifyInstance,
  { gateway, routes, authenticator, options, sse }: Endpoints
): Promise<void> {
  const checkHost = hostCheck(options.publicUrl, options.allowedHosts)
  const checkOrigin = originCheck(options.allowedOrigins, options.host)
  app.addHook('onRequest', (request, reply, done) => {
    request.started = performance.now()
    request.note = {}
    if (facts.request.wanted) request.raw.on('close', noop)
    reply.raw.on('close', () => tell(request, reply))
    try {
      checkHeaders(request.raw)
      checkTarget(request)
      checkHost(request.headers.host)
      checkOrigin(request.headers.origin)
      done()
    } catch (error) {
      done(error as Error)
    }
  })
  await app.register(cors, {
    delegator: (request, done) => done(null, corsFor(request as FastifyRequest))
  })
  app.addHook('onRequest', async request => {
    request.principal = await authenticator.authenticate({
      authorization: request.headers.authorization,
      address: request.ip
    })
    checkMethod(request)
    if (request.method === 'POST') checkContentType(request.headers['content-type'])
    request.accepts = accepts(request.headers.accept)
    checkAccept(request)
  })
  for (const route of routes) {
    app.all(route.path, async (request, reply) => writeAnswer(reply, await answerTo(request, route, gateway), sse))
  }
}

const noop = (): void => {}

function answerTo(request: FastifyRequest, route: Route, gateway: Gateway): Promise<Answer> {
  const { headers } = request
  const incoming: Incoming = {
    route,
    principal: request.principal!,
    address: request.ip,
    session: headers['mcp-session-id'] as string | undefined,
    version: headers['mcp-protocol-version'] as string | undefined,
    note: request.note
  }
  if (request.method === 'POST') {
    return gateway.post({ ...incoming, body: (request.body as Buffer | undefined) ?? empty, accepts: request.accepts })
  }
  if (request.method === 'GET')
    return gateway.get({ ...incoming, lastEventId: headers['last-event-id'] as string | undefined })
  return gateway.delete(incoming)
}

const empty = Buffer.alloc(0)

function checkMethod({ method }: FastifyRequest): void {
  if (method === 'POST' || method === 'GET' || method === 'DELETE') return
  throw new GatewayError('http_method', `${method} has no meaning here`, { headers: { allow } })
}

function checkAccept({ method, accepts: { json, sse } }: FastifyRequest): void {
  if (method === 'POST' && !json && !sse) {
    throw new GatewayError('not_acceptable', 'Accept must admit application/json or text/event-stream')
  }
  if (method === 'GET' && !sse) throw new GatewayError('not_acceptable', 'Accept must admit text/event-stream')
}

/** An absolute-form target whose authority is not the Host header's would mean another host to another hop. */
function checkTarget(request: FastifyRequest): void {
  const target = request.raw.url!
  if (target.charCodeAt(0) !== 0x2f) throw new GatewayError('path', 'the request target must be a path')
}

/** What a page needs to read: the origin is one that was allowed just before. */
function corsFor(request: FastifyRequest) {
  const asked = request.headers['access-control-request-headers'] ?? ''
  return {
    origin: request.headers.origin ?? false,
    methods: ['GET', 'POST', 'DELETE', 'OPTIONS'],
    allowedHeaders: asked
      .split(',')
      .map(name => name.trim().toLowerCase())
      .filter(name => corsHeaders.has(name) || /^mcp-param-[a-z0-9_-]+$/.test(name)),
    exposedHeaders: ['Mcp-Session-Id', 'WWW-Authenticate', 'Retry-After'],
    maxAge: 600,
    strictPreflight: false
  }
}

const corsHeaders = new Set([
  'accept',
  'authorization',
  'content-type',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'traceparent',
  'tracestate'
])

const notFound = (): GatewayError => new GatewayError('path', 'no such endpoint')

/** The request line of the log. */
function tell(request: FastifyRequest, reply: FastifyReply): void {
  if (!facts.request.wanted) return
  const { note } = request
  facts.request.publish({
    id: request.id,
    route: request.routeOptions.url ?? '',
    http: request.method,
    status: reply.raw.statusCode,
    method: note.method,
    name: note.name,
    backend: note.backend,
    session: note.session,
    version: note.version,
    outcome: note.outcome ?? 'ok',
    error: note.error,
    durationMs: performance.now() - request.started,
    address: request.ip
  })
}

/** A bare FIN is no disconnect: something is written at once, and what comes back decides (decisions: "Cancel, disconnect, drain"). */
function onHalfClose(socket: Socket): void {
  socket.on('end', () => {
    const response = (
      socket as { _httpMessage?: { headersSent: boolean; writeProcessing(): void; write(text: string): void } }
    )._httpMessage
    if (response === undefined || response === null) return
    if (response.headersSent) response.write(':\n\n')
    else response.writeProcessing()
  })
}
