/** What pages may send and read (Fetch standard, "CORS protocol"; R22, H19). Only for origins that were allowed before. */
import cors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import { methods } from './methods.ts'

/**
 * The plugin works on every request, most of which come from no page: its hook is run for those alone that have an Origin. The
 * others are told that the answer could have been another one.
 */
export function registerCors(app: FastifyInstance): void {
  const plugged = Object.create(app, {
    addHook: {
      value(_name: 'onRequest', hook: onRequestHookHandler) {
        app.addHook('onRequest', function forPages(request, reply, done) {
          if (request.raw.headers.origin !== undefined) return hook.call(app, request, reply, done)
          reply.header('vary', vary)
          done()
        })
      }
    }
  }) as FastifyInstance
  cors(plugged, { delegator: (request, done) => done(null, corsOptions(request)) }, () => {})
}

/** For caches: the answer depends on it (Fetch standard, "CORS protocol and HTTP caches"). */
export const vary = 'Origin'

const exposedHeaders = ['Mcp-Session-Id', 'WWW-Authenticate', 'Retry-After']

function corsOptions({ headers }: FastifyRequest): FastifyCorsOptions {
  return {
    origin: headers.origin!,
    methods: [...methods],
    allowedHeaders: allowed(headers['access-control-request-headers'] ?? ''),
    exposedHeaders,
    maxAge: 600,
    strictPreflight: false
  }
}

const known = new Set([
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

/** Of the headers asked for: those of the protocol, `Mcp-Param-*` by its pattern among them. */
const allowed = (asked: string): string[] =>
  asked
    .split(',')
    .map(name => name.trim().toLowerCase())
    .filter(name => known.has(name) || /^mcp-param-[a-z0-9_-]+$/.test(name))
