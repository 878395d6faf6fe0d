/** The listener for clients: Fastify in front, the gateway as three functions behind. */
import type { AddressInfo } from 'node:net'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Authenticator } from '../auth/principal.ts'
import type { Routes } from '../gateway/route.ts'
import { Bodies } from './bodies.ts'
import { admission, arrival, elsewhere } from './checks.ts'
import { onClientError } from './client-error.ts'
import { registerCors } from './cors.ts'
import { answerExpectations } from './expect.ts'
import { allowHalfClose } from './half-close.ts'
import { maxHeaders } from './headers.ts'
import { answerTo, type Gateway } from './incoming.ts'
import { KeepAlive } from './keep-alive.ts'
import { OpenResponses } from './open-responses.ts'
import type { Pressure } from './pressure.ts'
import { fromFastify, type ReplyOptions, writeAnswer, writeError } from './reply.ts'
import { tell } from './request-line.ts'

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
  /** Takes no more connections; idle ones end, the others with their next response. */
  stopAccepting(): void
  /** Open event streams. */
  readonly streams: number
  /** Resolves once every response is written and over. */
  finished(): Promise<void>
  close(): Promise<void>
}

export async function createServer(
  gateway: Gateway,
  routes: Routes,
  authenticator: Authenticator,
  pressure: Pick<Pressure, 'level'>,
  options: ServerOptions
): Promise<HttpServer> {
  const keepAlive = new KeepAlive({ everyMs: options.keepAliveMs, stallMs: options.stallMs })
  const app = fastifyFor(options)
  const bodies = new Bodies(options.bodyLimit)
  const open = new OpenResponses((request, reply) => {
    bodies.release(request)
    tell(request, reply)
    if (!reply.raw.writableFinished) request.onGone?.()
  })
  app.addHook('onRequest', arrival(routes, options, open))
  registerCors(app)
  app.addHook('onRequest', admission(authenticator, pressure))
  const replies: ReplyOptions = { keepAlive, highWater: options.highWater, stallMs: options.stallMs, leaving: false }
  // The answer is written by hand: what Fastify does with a promise costs more than all the checks together.
  const serve = (request: FastifyRequest, reply: FastifyReply, body: Buffer): void => {
    // While the body came, what is served there may have changed.
    request.route = routes.find(request.route!.path)
    if (request.route === undefined) {
      reply.send(elsewhere(request.raw))
      return
    }
    answerTo(request, body, gateway).then(
      answer => writeAnswer(reply, answer, replies),
      error => reply.send(error)
    )
  }
  app.route({
    method: ['GET', 'POST', 'DELETE'],
    // Which paths there are is looked up by the checks: that can change while the server runs.
    url: '*',
    handler: (request, reply) => {
      if (request.method !== 'POST') serve(request, reply, none)
      else bodies.read(request, (refusal, body) => (refusal ? reply.send(refusal) : serve(request, reply, body)))
    }
  })
  await app.ready()
  return {
    async listen(port) {
      await app.listen({ host: options.host, port })
      return (app.server.address() as AddressInfo).port
    },
    stopAccepting() {
      replies.leaving = true
      app.server.close()
      app.server.closeIdleConnections()
    },
    get streams() {
      return keepAlive.size
    },
    finished: () => open.empty(),
    async close() {
      keepAlive.close()
      await app.close()
    }
  }
}

const none = Buffer.alloc(0)

/** Longer than the balancers in front of it keep an idle connection, which must be the first to let go (H4). */
const keepAliveTimeout = 72_000

/** How often Node looks for heads and bodies that take too long. */
const checkingMs = 2_000

/** Everything that Fastify and Node would do their own way is set to ours. */
function fastifyFor(options: ServerOptions): FastifyInstance {
  const { headersTimeoutMs, requestTimeoutMs } = options
  const app = fastify({
    logger: false,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout,
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    trustProxy: options.trustProxy.length === 0 ? false : [...options.trustProxy],
    routerOptions: { ignoreTrailingSlash: false, ignoreDuplicateSlashes: false, caseSensitive: true },
    http: {
      maxHeaderSize: 16_384,
      // Ours says so in the words of JSON-RPC.
      requireHostHeader: false,
      headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
      connectionsCheckingInterval: Math.min(checkingMs, headersTimeoutMs, requestTimeoutMs),
      keepAlive: true,
      keepAliveInitialDelay: 30_000
    },
    clientErrorHandler: onClientError,
    frameworkErrors: (_error, { raw }, reply) => void writeError(reply, elsewhere(raw))
  })
  app.server.maxConnections = options.maxConnections
  app.server.maxHeadersCount = maxHeaders
  answerExpectations(app.server)
  allowHalfClose(app.server)
  // Bodies are not Fastify's to read. One of DELETE means nothing: nobody reads it.
  for (const method of ['POST', 'DELETE']) app.addHttpMethod(method, { overrideExisting: true })
  // Other paths and HTTP methods were refused by the checks.
  app.setNotFoundHandler(({ raw }, reply) => writeError(reply, elsewhere(raw)))
  app.setErrorHandler((error, request, reply) => {
    const ours = fromFastify(error)
    request.note.outcome = 'rejected'
    request.note.error = ours.code
    return writeError(reply, ours)
  })
  app.decorateRequest('started', 0)
  app.decorateRequest('held', 0)
  app.decorateRequest('note')
  app.decorateRequest('route', undefined)
  app.decorateRequest('onGone', undefined)
  app.decorateRequest('principal', undefined)
  app.decorateRequest('accepts')
  return app
}
