/**
 * Reads the bodies of requests. Each has a limit, and so have all of them together: what each may have is not what all may have
 * at once (H7).
 *
 * By hand: what Fastify has for it makes an async resource and four closures of every call.
 */
import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Bytes of its body that {@link Bodies} counts. */
    held: number
  }
}

type Done = (refusal: GatewayError | undefined, body: Buffer) => void

/** So many bodies of `server.limits.body` may be in memory at once, or more that are smaller. */
const maxBodies = 64

export class Bodies {
  readonly #limit: number
  readonly #most: number
  #all = 0

  /** `limit` of one body, in bytes. */
  constructor(limit: number) {
    this.#limit = limit
    this.#most = maxBodies * limit
  }

  /** `done` is called once: with the whole body, or with `too_large` (413), `overloaded` (503), `header` (400, it broke off). */
  read(request: FastifyRequest, done: Done): void {
    const announced = request.raw.headers['content-length']
    if (announced !== undefined) {
      const length = Number(announced)
      const refusal = length > this.#limit ? tooLarge() : this.#all + length > this.#most ? tooMuch() : undefined
      if (refusal !== undefined) {
        done(refusal, none)
        return
      }
      this.#count(request, length)
    }
    this.#collect(request, announced === undefined, done)
  }

  /** The response is over. */
  release(request: FastifyRequest): void {
    this.#all -= request.held
    request.held = 0
  }

  #collect(request: FastifyRequest, counting: boolean, done: Done): void {
    const { raw } = request
    let body: Buffer | undefined
    let more: Buffer[] | undefined
    let size = 0
    let over = false
    const end = (refusal: GatewayError | undefined, whole: Buffer): void => {
      if (over) return
      over = true
      done(refusal, whole)
    }
    raw.on('data', (chunk: Buffer) => {
      if (over) return
      size += chunk.length
      if (size > this.#limit) {
        body = undefined
        more = undefined
        end(tooLarge(), none)
        return
      }
      if (counting) {
        this.#count(request, chunk.length)
        // Too late for words: the body is being read.
        if (this.#all > this.#most) raw.destroy()
      }
      if (body === undefined) body = chunk
      else if (more === undefined) more = [body, chunk]
      else more.push(chunk)
    })
    raw.on('end', () => end(undefined, more === undefined ? (body ?? none) : Buffer.concat(more, size)))
    raw.on('error', cause => end(brokeOff(cause), none))
  }

  #count(request: FastifyRequest, bytes: number): void {
    request.held += bytes
    this.#all += bytes
  }
}

const none = Buffer.alloc(0)

const tooLarge = (): GatewayError =>
  new GatewayError('too_large', 'the body is larger than server.limits.body', { headers: { connection: 'close' } })

const tooMuch = (): GatewayError =>
  new GatewayError('overloaded', 'too many large requests are under way', {
    headers: { 'retry-after': '1', connection: 'close' }
  })

/** The client left while it sent the body: nobody reads this. */
const brokeOff = (cause: Error): GatewayError =>
  new GatewayError('header', 'the body broke off', { headers: { connection: 'close' }, cause })
