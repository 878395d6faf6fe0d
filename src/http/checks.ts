/**
 * What every request goes through before its body is read, in the order of decisions ("Order of checks"): path, repeated
 * headers, Host, Origin; then, after the preflight, authentication, HTTP method and media types.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Authenticator, Principal } from '../auth/principal.ts'
import { GatewayError } from '../errors.ts'
import type { Note } from '../gateway/request.ts'
import type { Route, Routes } from '../gateway/route.ts'
import { checkHeaders } from './headers.ts'
import { hostCheck } from './host.ts'
import { endBehind, isBehindLast } from './last.ts'
import { type Accepts, accepts, checkContentType } from './media.ts'
import { checkMethod } from './methods.ts'
import type { OpenResponses } from './open-responses.ts'
import { originCheck } from './origin.ts'
import type { Pressure } from './pressure.ts'
import { checkAuthority, pathOf } from './target.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Milliseconds, of `performance.now()`. */
    started: number
    note: Note
    /** Undefined for a path that no route has. */
    route: Route | undefined
    principal: Principal | undefined
    accepts: Accepts
  }
}

export interface OwnNames {
  readonly host: string
  readonly publicUrl: string | undefined
  readonly allowedOrigins: readonly string[] | undefined
  readonly allowedHosts: readonly string[]
}

/** Before the preflight. */
export function arrival(routes: Routes, names: OwnNames, open: OpenResponses): onRequestHookHandler {
  const checkHost = hostCheck(names.publicUrl, names.allowedHosts)
  const checkOrigin = originCheck(names.allowedOrigins, names.host)
  return function arrive(request, reply, done) {
    if (isBehindLast(request.raw)) {
      reply.hijack()
      return
    }
    request.started = performance.now()
    request.note = {}
    open.add(request, reply)
    const { headers } = request.raw
    try {
      if (headers.upgrade !== undefined) stay(request, reply)
      request.route = routes.find(pathOf(request.raw))
      if (request.route === undefined) throw elsewhere(request.raw)
      checkHeaders(request.raw)
      checkAuthority(request.raw)
      checkHost(headers.host)
      checkOrigin(headers.origin)
      done()
    } catch (error) {
      done(error as Error)
    }
  }
}

/** Nothing is changed to. Node loses what came with such a request, so that the connection cannot be used again. */
function stay(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('connection', 'close')
  endBehind(request.raw)
}

/** After the preflight. */
export function admission(authenticator: Authenticator, pressure: Pick<Pressure, 'level'>): onRequestHookHandler {
  return function admit(request, _reply: FastifyReply, done) {
    try {
      if (pressure.level === 'full' && request.method !== 'DELETE') throw tooBusy()
      const { authorization } = request.raw.headers
      const principal = authenticator.authenticate({ authorization, address: request.ip })
      if (principal instanceof Promise) {
        principal.then(known => enter(request, known)).then(() => done(), done)
        return
      }
      enter(request, principal)
      done()
    } catch (error) {
      done(error as Error)
    }
  }
}

const tooBusy = (): GatewayError =>
  new GatewayError('overloaded', 'the gateway is short of memory or time', {
    headers: { 'retry-after': '5', connection: 'close' }
  })

function enter(request: FastifyRequest, principal: Principal): void {
  const { headers, method } = request.raw
  request.principal = principal
  checkMethod(method!)
  if (method === 'POST') checkContentType(headers['content-type'])
  request.accepts = accepts(headers.accept)
  checkAccept(method!, request.accepts)
}

function checkAccept(method: string, { json, sse }: Accepts): void {
  if (method === 'POST' && !json && !sse) {
    throw new GatewayError('not_acceptable', 'Accept must admit application/json or text/event-stream')
  }
  if (method === 'GET' && !sse) throw new GatewayError('not_acceptable', 'Accept must admit text/event-stream')
}

const notFound = (headers?: Readonly<Record<string, string>>): GatewayError =>
  new GatewayError('path', 'no such endpoint', { headers })

/** The path is the first to be judged. Where the head is bad besides, the connection ends all the same. */
export function elsewhere(request: IncomingMessage): GatewayError {
  try {
    checkHeaders(request)
    if (request.headers.host !== undefined) return notFound()
  } catch {
    // Told by the end of the connection alone.
  }
  return notFound({ connection: 'close' })
}
