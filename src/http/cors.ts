/** What pages may send and read (Fetch standard, "CORS protocol"; R22, H19). Only for origins that were allowed before. */
import type { FastifyCorsOptions } from '@fastify/cors'
import type { FastifyRequest } from 'fastify'
import { methods } from './methods.ts'

/** No page asks: nothing to say. */
const none: FastifyCorsOptions = { origin: false }

const exposedHeaders = ['Mcp-Session-Id', 'WWW-Authenticate', 'Retry-After']

export function corsOptions({ headers }: FastifyRequest): FastifyCorsOptions {
  if (headers.origin === undefined) return none
  return {
    origin: headers.origin,
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
