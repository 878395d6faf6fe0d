/** The memory that request bodies take all together: what each may have is not what all may have at once (H7). */
import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Bytes of its body that {@link Bodies} counts. */
    held: number
  }
}

/** So many bodies of `server.limits.body` may be in memory at once, or more that are smaller. */
const maxBodies = 64

export class Bodies {
  readonly #limit: number
  readonly #most: number
  #all = 0

  /** `limit` of one body, in bytes: what announces more is refused elsewhere, unread. */
  constructor(limit: number) {
    this.#limit = limit
    this.#most = maxBodies * limit
  }

  /** Counts what was announced, and of a body without a length what comes, until `release`. Throws `overloaded` (503). */
  hold(request: FastifyRequest): void {
    const announced = request.raw.headers['content-length']
    if (announced === undefined) this.#watch(request)
    else {
      const length = Number(announced)
      if (length <= this.#limit) this.#count(request, length)
    }
  }

  /** The response is over. */
  release(request: FastifyRequest): void {
    this.#all -= request.held
    request.held = 0
  }

  #count(request: FastifyRequest, bytes: number): void {
    if (this.#all + bytes > this.#most) throw tooMuch()
    request.held += bytes
    this.#all += bytes
  }

  /** The body is read from this turn on. */
  #watch(request: FastifyRequest): void {
    request.raw.on('data', (chunk: Buffer) => {
      request.held += chunk.length
      this.#all += chunk.length
      // Too late for words: the body is being read.
      if (this.#all > this.#most) request.raw.destroy()
    })
  }
}

const tooMuch = (): GatewayError =>
  new GatewayError('overloaded', 'too many large requests are under way', {
    headers: { 'retry-after': '1', connection: 'close' }
  })
