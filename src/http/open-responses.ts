/** The responses that are not over yet: what is to be done when one is, and when the last of them is. */
import type { FastifyReply, FastifyRequest } from 'fastify'

type Over = (request: FastifyRequest, reply: FastifyReply) => void

export class OpenResponses {
  readonly #over: Over
  #count = 0
  #empty: PromiseWithResolvers<void> | undefined

  /** `over` is called once for each response, when it is written or its connection is gone. */
  constructor(over: Over) {
    this.#over = over
  }

  add(request: FastifyRequest, reply: FastifyReply): void {
    this.#count++
    // The one listener of a request: each more costs the way of every call.
    reply.raw.on('close', () => this.#closed(request, reply))
  }

  /** Resolves once none is open. */
  empty(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    this.#empty ??= Promise.withResolvers()
    return this.#empty.promise
  }

  #closed(request: FastifyRequest, reply: FastifyReply): void {
    this.#count--
    this.#over(request, reply)
    if (this.#count > 0) return
    this.#empty?.resolve()
    this.#empty = undefined
  }
}
