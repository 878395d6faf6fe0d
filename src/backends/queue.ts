/** The exchange that every backend kind hands out: what the transport pushes, the reader pulls. */
import { GatewayError } from '../errors.ts'
import type { Message } from '../protocol/message.ts'
import type { Place } from '../streams/stream-log.ts'
import type { Exchange } from './backend.ts'

/** What the transport does when the reader has its say. Dropped at the end, so that a finished exchange holds nothing of it. */
export interface Transport {
  /** Tells the upstream that the answer is not wanted any more. */
  cancel(reason: string | undefined): void
  /** Stops reading without telling the upstream. */
  detach(): void
  /** The reader is behind (`push` said false) no longer. */
  resume?(): void
}

/** Messages that may wait for the reader before `push` asks the transport to pause. */
const highWater = 16

/** An exchange that failed before it began. */
export function failed(error: GatewayError): Exchange {
  const queue = new Queue({ cancel() {}, detach() {} })
  queue.fail(error)
  return queue
}

const done: IteratorResult<Message> = { done: true, value: undefined }

export class Queue implements Exchange {
  #waiting: Message[] = []
  /** Places that go with waiting messages, at the same index. Empty for upstreams that have none. */
  #places: (Place | undefined)[] = []
  #reader: PromiseWithResolvers<IteratorResult<Message>> | undefined
  #failure: GatewayError | undefined
  #transport: Transport | undefined
  #over = false
  place: Place | undefined

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Whether nothing more will be pushed. */
  get over(): boolean {
    return this.#over
  }

  /** A message on the way. False: pause until `resume`. After the end it is dropped. */
  push(message: Message): boolean {
    if (this.#over) return true
    if (this.#reader !== undefined) {
      const reader = this.#reader
      this.#reader = undefined
      reader.resolve({ done: false, value: message })
      return true
    }
    return this.#waiting.push(message) < highWater
  }

  /**
   * Where the upstream's stream stands after everything pushed so far. The reader sees it once it has read all of that, so
   * that nobody resumes after a message which was never handed out.
   */
  stand(place: Place | undefined): void {
    if (this.#over) return
    if (this.#waiting.length === 0) this.place = place
    else this.#places[this.#waiting.length - 1] = place
  }

  /** The response, after which there is nothing. */
  finish(response: Message): void {
    this.push(response)
    this.#end()
  }

  /** The exchange fails; what was pushed before is still read. */
  fail(error: GatewayError): void {
    if (this.#over) return
    this.#end()
    if (this.#reader === undefined) {
      this.#failure = error
      return
    }
    const reader = this.#reader
    this.#reader = undefined
    reader.reject(error)
  }

  next(): Promise<IteratorResult<Message>> {
    const message = this.#waiting.shift()
    if (message !== undefined) {
      if (this.#places.length > 0) this.place = this.#places.shift() ?? this.place
      if (this.#waiting.length === highWater - 1) this.#transport?.resume?.()
      return Promise.resolve({ done: false, value: message })
    }
    if (this.#failure !== undefined) {
      const failure = this.#failure
      this.#failure = undefined
      return Promise.reject(failure)
    }
    if (this.#over) return Promise.resolve(done)
    if (this.#reader !== undefined) return Promise.reject(new GatewayError('internal', 'two readers of one exchange'))
    this.#reader = Promise.withResolvers()
    return this.#reader.promise
  }

  cancel(reason?: string): void {
    const transport = this.#drop()
    transport?.cancel(reason)
  }

  detach(): void {
    const transport = this.#drop()
    transport?.detach()
  }

  return(): Promise<IteratorResult<Message>> {
    this.cancel()
    return Promise.resolve(done)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #end(): void {
    this.#over = true
    this.#transport = undefined
  }

  /** Forgets what was not read and wakes the reader. */
  #drop(): Transport | undefined {
    const transport = this.#transport
    this.#end()
    this.#waiting = []
    this.#places = []
    this.#failure = undefined
    this.#reader?.resolve(done)
    this.#reader = undefined
    return transport
  }
}
