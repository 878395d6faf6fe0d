/** One HTTP+SSE session: the stream brings what the upstream says, posts to its endpoint take what is said to it. */
import { setMaxListeners } from 'node:events'
import { GatewayError } from '../../errors.ts'
import type { Message } from '../../protocol/message.ts'
import { latestLegacy } from '../../protocol/version.ts'
import { bytes } from '../../protocol/write.ts'
import { facts } from '../../telemetry/events.ts'
import { Arrivals } from '../arrivals.ts'
import type { OpenOptions } from '../backend.ts'
import { Correlator } from '../correlate.ts'
import { Flow } from '../flow.ts'
import { handshake } from '../handshake.ts'
import { Intake, type UpstreamLimits } from '../intake.ts'
import { PipeLink } from '../pipe-link.ts'
import { endpointOf } from './endpoint.ts'
import { Incoming } from './incoming.ts'
import type { Wire } from './wire.ts'

export interface ConversationEvents {
  /** It broke while it was in use. */
  broken(reason: GatewayError): void
  /** It is over, however that came. */
  over(): void
}

type Body = Awaited<ReturnType<Wire['stream']>>

/** How long (ms) an upstream may take to hear that a call is cancelled. */
const tellingMs = 1_000

export class Conversation {
  readonly #wire: Wire
  readonly #limits: UpstreamLimits
  readonly #options: OpenOptions
  readonly #events: ConversationEvents
  readonly #correlator: Correlator
  readonly #intake: Intake
  readonly #arrivals: Arrivals
  /** Ends the stream, and posts that are under way. */
  readonly #abort = new AbortController()
  readonly #endpoint = Promise.withResolvers<URL>()
  #body: Body | undefined
  #flow: Flow | undefined
  #link: PipeLink | undefined
  #over = false
  /** Cancellations that are under way: the conversation is not ended before. */
  readonly #telling = new Set<Promise<void>>()

  constructor(wire: Wire, limits: UpstreamLimits, options: OpenOptions, events: ConversationEvents) {
    this.#wire = wire
    this.#limits = limits
    this.#options = options
    this.#events = events
    this.#arrivals = new Arrivals(wire.backend, options.receive)
    this.#correlator = new Correlator({
      backend: wire.backend,
      single: true,
      pipe: { write: message => this.#write(message), resume: () => this.#flow?.release() },
      receive: message => this.#arrivals.take(message)
    })
    this.#intake = new Intake(this.#correlator, wire.backend, limits)
    setMaxListeners(0, this.#abort.signal)
    this.#endpoint.promise.catch(() => {})
  }

  /** Opens the stream, waits for its endpoint, shakes hands. After a rejection nothing is left of it. */
  async start(): Promise<PipeLink> {
    const { signal, client } = this.#options
    const giveUp = (): void => this.end(this.#wire.error('backend_unavailable', 'was given up', signal.reason))
    const timer = setTimeout(
      () => this.end(this.#wire.error('timeout', 'named no message endpoint in time')),
      this.#wire.timeout
    )
    signal.addEventListener('abort', giveUp)
    try {
      if (signal.aborted) giveUp()
      await Promise.race([this.#read(), this.#endpoint.promise])
      await this.#endpoint.promise
      clearTimeout(timer)
      const server = await handshake(this.#correlator, {
        backend: this.#wire.backend,
        version: latestLegacy,
        client,
        timeoutMs: this.#wire.timeout,
        signal,
        receive: message => this.#arrivals.take(message)
      })
      this.#link = new PipeLink(this.#wire.backend, server, this.#correlator, async link => {
        this.#correlator.closeAll(link, false)
        this.#link = undefined
        await this.#told()
        this.end(this.#wire.error('backend_broke', 'was left'))
      })
      this.#arrivals.release()
      return this.#link
    } catch (error) {
      this.end(this.#wire.error('backend_broke', 'was left'))
      throw error
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', giveUp)
    }
  }

  /** Lets go of the upstream; whoever uses it is told. */
  end(reason: GatewayError): void {
    if (this.#over) return
    this.#over = true
    this.#endpoint.reject(reason)
    this.#correlator.fail(reason)
    this.#abort.abort()
    this.#body?.destroy()
    this.#body = undefined
    this.#flow = undefined
    this.#events.over()
    if (this.#link === undefined) return
    this.#link = undefined
    this.#events.broken(reason)
    this.#options.ended(reason)
  }

  async #read(): Promise<void> {
    const body = await this.#wire.stream(this.#abort.signal)
    if (this.#over) return void body.on('error', () => {}).destroy()
    this.#body = body
    const flow = new Flow(body)
    this.#flow = flow
    const incoming = new Incoming(this.#intake, this.#limits.upstream, {
      endpoint: data => this.#named(data),
      endless: () => this.end(this.#wire.error('backend_broke', 'sent a message without an end'))
    })
    body.on('data', (chunk: Buffer) => {
      if (!incoming.push(chunk)) flow.hold()
      flow.took(chunk.length)
    })
    const broke = (cause?: unknown): void => this.end(this.#wire.error('backend_broke', 'broke off its stream', cause))
    body.on('error', broke)
    body.on('close', () => broke())
  }

  /** Only the first counts: nobody moves the conversation elsewhere later on. */
  #named(data: Buffer): void {
    try {
      this.#endpoint.resolve(endpointOf(data, this.#wire.url, this.#wire.backend))
    } catch (error) {
      this.#endpoint.reject(error)
    }
  }

  #write(message: Message): Promise<void> {
    const posting = this.#post(message)
    if (message.method !== 'notifications/cancelled') return posting
    this.#telling.add(posting)
    const over = (): boolean => this.#telling.delete(posting)
    posting.then(over, over)
    return posting
  }

  async #told(): Promise<void> {
    if (this.#telling.size === 0) return
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, tellingMs)
    })
    await Promise.race([late, Promise.allSettled(this.#telling)])
    clearTimeout(timer)
  }

  async #post(message: Message): Promise<void> {
    const endpoint = await this.#endpoint.promise
    let status: number
    try {
      status = await this.#wire.post(endpoint, bytes(message), this.#abort.signal)
    } catch (error) {
      // It may be at work already: the answer comes on the stream, or the caller gives up.
      if (message.kind === 'request' && error instanceof GatewayError && error.code === 'timeout') return
      throw error
    }
    if (status < 300) return
    if ((status !== 404 && status !== 410) || this.#link === undefined) {
      if (message.kind === 'request') throw this.#wire.status(status)
      const text = `${message.method ?? 'an answer'} was answered with HTTP status ${status}`
      facts.notice.publish({ level: 'warn', text, backend: this.#wire.backend })
      return
    }
    // The session is gone. This message was refused before it was looked at; the others fail after it.
    setImmediate(() => this.end(this.#wire.error('backend_broke', 'does not know its session any more')))
    throw new GatewayError(
      'backend_session_lost',
      `backend "${this.#wire.backend}" does not know its session any more`,
      { backend: this.#wire.backend }
    )
  }
}
