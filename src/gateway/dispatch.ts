/**
 * The way of one HTTP request. Its era is decided first; in the legacy one follow session, version, batch rule, then a table
 * of methods (decisions: "Order of checks").
 */
import type { Backend } from '../backends/backend.ts'
import { GatewayError, toGatewayError } from '../errors.ts'
import { Later } from '../exchanges/acting.ts'
import { begin, type ResponseMode } from '../exchanges/run.ts'
import { Running } from '../exchanges/running.ts'
import { type MessageSource, merged, single } from '../exchanges/source.ts'
import { classify, isPostAlone } from '../protocol/classify.ts'
import { errorMessage, makeResult } from '../protocol/make.ts'
import { isBatch, type Message, read, stringParam } from '../protocol/message.ts'
import { line } from '../protocol/write.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { type Cursor, channelStream, parseEventId } from '../streams/event-id.ts'
import { facts } from '../telemetry/events.ts'
import type { Answer } from './answer.ts'
import { checkBatch } from './batch.ts'
import type { Context } from './context.ts'
import { initialize } from './methods/initialize.ts'
import type { Method } from './methods/method.ts'
import { setLevel } from './methods/set-level.ts'
import { subscribe, unsubscribe } from './methods/subscriptions.ts'
import { listOwnTasks } from './methods/tasks.ts'
import { unionMethod } from './methods/union-methods.ts'
import { Modern } from './modern.ts'
import { notified } from './notifications.ts'
import { noted, noteOutcome } from './outcome.ts'
import type { Requests } from './posts.ts'
import type { Incoming, IncomingGet, IncomingPost, Note } from './request.ts'
import { check, known, sessionOf } from './session-of.ts'

/** Requests that the gateway answers, or has a part in; every other one goes to the backend. */
const methods: Readonly<Record<string, Method>> = {
  ping: ({ request }) => single(makeResult(request.id!, {})),
  initialize: ({ request }) => single(errorMessage(new GatewayError('invalid', 'initialize stands alone'), request.id)),
  'logging/setLevel': setLevel,
  'resources/subscribe': subscribe,
  'resources/unsubscribe': unsubscribe,
  'tasks/list': listOwnTasks
}

export class Dispatch {
  readonly #context: Context
  readonly #modern: Modern

  constructor(context: Context) {
    this.#context = context
    this.#modern = new Modern(context)
  }

  /** Rejects with the GatewayError of a refusal. */
  async post(incoming: IncomingPost): Promise<Answer> {
    const body = read(incoming.body, this.#context.maxDepth, this.#context.maxBatch)
    const era = classify(body, incoming.version, incoming.route.versions)
    if (isBatch(body)) return await this.#batch(body.elements, incoming)
    // Calls that go on while the gateway drains may need what the client answers, or be cancelled.
    if (body.kind === 'request' && this.#context.draining()) throw shuttingDown(body.id)
    noteOf(body, incoming.note)
    if (era === 'modern') return await this.#modern.post(body, incoming, this.#mode(incoming))
    if (body.method === 'initialize') return await this.#initialize(body, incoming)
    const id = body.kind === 'request' ? body.id : undefined
    const found = sessionOf(incoming, this.#context, id)
    const live = found instanceof Promise ? await found : found
    check(live, incoming, this.#context, id)
    if (body.kind === 'request')
      return await this.#answer([this.#source(body, live, incoming)], [body.id!], live, incoming, false)
    await this.#oneWay(body, live)
    return this.#finished(live, accepted)
  }

  async get(incoming: IncomingGet): Promise<Answer> {
    refuseModernMethod(incoming)
    if (incoming.session === undefined) throw noStream()
    const live = await known(incoming, this.#context)
    check(live, incoming, this.#context)
    const { channels, posts, draining, answers } = this.#context
    const cursor = cursorOf(incoming)
    if (answers !== undefined) await answers.learn(live)
    if (cursor !== undefined && cursor.stream !== channelStream(live.record.id))
      return { kind: 'stream', run: await posts.resume(live, cursor) }
    if (draining()) throw shuttingDown()
    return { kind: 'stream', run: await channels.open(live, cursor?.number) }
  }

  async delete(incoming: Incoming): Promise<Answer> {
    refuseModernMethod(incoming)
    if (incoming.session === undefined) throw new GatewayError('session_required', 'Mcp-Session-Id is missing')
    const live = await known(incoming, this.#context)
    check(live, incoming, this.#context)
    await this.#context.sessions.close(live, 'deleted')
    return { kind: 'deleted' }
  }

  async #initialize(request: Message, incoming: IncomingPost): Promise<Answer> {
    if (request.kind !== 'request') throw new GatewayError('invalid', 'initialize is a request: it needs an id')
    if (this.#context.strained()) throw strained(request.id)
    const { response, session } = await initialize(request, incoming, this.#context)
    noteOutcome(response, incoming.note)
    if (incoming.accepts.json) return { kind: 'message', body: response, session }
    return {
      kind: 'stream',
      session,
      run: reader => {
        void reader.push(undefined, line(response))
        reader.end()
      }
    }
  }

  async #batch(elements: readonly (Message | GatewayError)[], incoming: IncomingPost): Promise<Answer> {
    if (this.#context.draining() && elements.some(isRequest)) throw shuttingDown()
    const live = await sessionOf(incoming, this.#context)
    check(live, incoming, this.#context)
    incoming.note.method = 'batch'
    checkBatch(elements, live.record.client.version, this.#context.maxBatch)
    if (elements.every(isNoMessage)) {
      incoming.note.outcome = 'rejected'
      return this.#finished(live, { kind: 'message', body: elements.map(error => errorMessage(error)), status: 400 })
    }
    const sources: MessageSource[] = []
    const ids: string[] = []
    for (const element of elements) {
      if (element instanceof GatewayError) {
        sources.push(single(errorMessage(element)))
      } else if (element.kind === 'request') {
        sources.push(this.#source(element, live, incoming))
        ids.push(element.id!)
      }
    }
    // After the requests are known, so that they can be cancelled, and before the first of them runs.
    for (const element of elements) {
      if (!(element instanceof GatewayError) && element.kind !== 'request') await this.#batched(element, live)
    }
    if (sources.length === 0) return this.#finished(live, accepted)
    return this.#answer(sources, ids, live, incoming, true)
  }

  /** One that fails harms no other: the requests of its batch run. */
  async #batched(message: Message, live: Live): Promise<void> {
    try {
      await this.#oneWay(message, live)
    } catch (error) {
      const { code } = toGatewayError(error)
      facts.drop.publish({ reason: code })
    }
  }

  #source(request: Message, live: Live, incoming: IncomingPost): MessageSource {
    const { backend, union } = incoming.route
    const context = this.#context
    const streamable = !live.ephemeral && this.#mode(incoming) !== 'json'
    if (backend === undefined) {
      const run = (to: Backend, upstream: Message): Running =>
        new Running(live, to, context.tasks.toBackend(upstream, live, to), streamable, context.running)
      const source = unionMethod(request.method!)({ request, live, union: union!, context, note: incoming.note, run })
      if (source instanceof Later) context.inFlight.awaiting(live, request, source)
      return source
    }
    const run = (upstream: Message): Running => new Running(live, backend, upstream, streamable, context.running)
    const method = Object.hasOwn(methods, request.method!) ? methods[request.method!] : undefined
    if (method !== undefined) return method({ request, live, backend, context, run })
    if (request.method!.startsWith('notifications/')) {
      return single(errorMessage(new GatewayError('method', 'a notification has no id'), request.id))
    }
    incoming.note.backend = backend.name
    return run(request)
  }

  async #answer(
    sources: MessageSource[],
    ids: string[],
    live: Live,
    incoming: IncomingPost,
    batch: boolean
  ): Promise<Answer> {
    const source = sources.length === 1 ? sources[0]! : merged(sources)
    const begun = await begin(source, this.#mode(incoming), this.#context.sseAfter)
    if (begun.kind === 'open') {
      incoming.note.outcome = 'ok'
      return {
        kind: 'stream',
        run: reader =>
          this.#stream(live, noted(begun.rest, incoming.note), { ids, method: incoming.note.method }, reader)
      }
    }
    const { responses } = begun
    for (const response of responses) noteOutcome(response, incoming.note)
    if (responses.length === 0) {
      incoming.note.outcome = 'cancelled'
      return this.#finished(live, { kind: 'stream', run: reader => reader.end() })
    }
    return this.#finished(live, { kind: 'message', body: batch ? responses : responses[0]! })
  }

  #stream(live: Live, source: MessageSource, requests: Requests, reader: Parameters<Context['posts']['run']>[3]): void {
    this.#context.posts.run(live, source, requests, reader, () => void this.#finished(live, undefined))
  }

  /** One request without a session is over: so is its upstream session. */
  #finished<T>(live: Live, answer: T): T {
    if (live.ephemeral) {
      live.closed = true
      void this.#context.links.letGo(live)
    }
    return answer
  }

  async #oneWay(message: Message, live: Live): Promise<void> {
    if (message.kind === 'notification') {
      await notified(message, live, this.#context)
      return
    }
    const { asked, answers } = this.#context
    const other = answers && asked.askedBy(message, live)
    if (other !== undefined) return await answers!.pass(message, live, other)
    const outcome = asked.answer(message, live)
    if (outcome === 'unknown') throw new GatewayError('not_asked', 'the response answers no request of this session')
    if (outcome === 'late') facts.drop.publish({ reason: 'late_answer' })
  }

  #mode({ accepts }: IncomingPost): ResponseMode {
    if (!accepts.sse) return 'json'
    if (!accepts.json) return 'sse-only'
    return this.#context.response
  }
}

const isRequest = (element: Message | GatewayError): boolean =>
  !(element instanceof GatewayError) && element.kind === 'request'

const isNoMessage = (element: Message | GatewayError): element is GatewayError => element instanceof GatewayError

const accepted: Answer = { kind: 'accepted' }

const shuttingDown = (id?: string): GatewayError =>
  new GatewayError('shutdown', 'the gateway is shutting down', {
    id,
    headers: { 'retry-after': '5', connection: 'close' }
  })

const strained = (id: string | undefined): GatewayError =>
  new GatewayError('overloaded', 'the gateway is short of memory or time: no new sessions for now', {
    id,
    headers: { 'retry-after': '5' }
  })

function cursorOf({ lastEventId }: IncomingGet): Cursor | undefined {
  if (lastEventId === undefined) return undefined
  const cursor = parseEventId(lastEventId)
  if (cursor === undefined) throw new GatewayError('cursor', 'no such event was given to this session')
  return cursor
}

const noStream = (): GatewayError =>
  new GatewayError('http_method', 'a GET opens the stream of a session: Mcp-Session-Id is missing', {
    headers: { allow: 'POST' }
  })

function refuseModernMethod({ version, route }: Incoming): void {
  if (!isPostAlone(version, route.versions)) return
  throw new GatewayError('http_method', 'this revision has POST alone', { headers: { allow: 'POST' } })
}

function noteOf(message: Message, note: Note): void {
  note.method = message.method ?? 'response'
  if (message.method === 'tools/call' || message.method === 'prompts/get') note.name = stringParam(message, 'name')
  note.outcome = message.kind === 'request' ? 'ok' : 'accepted'
}
