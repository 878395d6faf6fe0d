/**
 * The way of one modern request, which has no session: headers and method are checked, then it is answered by the same
 * means as any other, as JSON or as an event stream that ends with it (2026-07-28 basic/transports/streamable-http).
 */
import { anonymous } from '../auth/principal.ts'
import type { Backend } from '../backends/backend.ts'
import { hasState, notGood } from '../bridge/origin.ts'
import { GatewayError } from '../errors.ts'
import { begin, type ResponseMode } from '../exchanges/run.ts'
import { type MessageSource, single } from '../exchanges/source.ts'
import type { InstanceId } from '../instances/presence.ts'
import { errorMessage } from '../protocol/make.ts'
import { type Message, stringParam, textOf } from '../protocol/message.ts'
import { stringMeta } from '../protocol/meta.ts'
import { checkMirrored } from '../protocol/mirrored.ts'
import { interactive, levelKey, ofTasks, removed } from '../protocol/modern.ts'
import { isVersion } from '../protocol/version.ts'
import { line } from '../protocol/write.ts'
import type { Reader } from '../streams/reader.ts'
import { facts } from '../telemetry/events.ts'
import type { Answer } from './answer.ts'
import type { Context } from './context.ts'
import { withoutInvalid } from './invalid-tools.ts'
import { isLevel } from './levels.ts'
import { discover } from './methods/discover.ts'
import { ofTask } from './methods/modern-tasks.ts'
import { unionMethod } from './methods/union-methods.ts'
import { ModernCall } from './modern-call.ts'
import { ModernSource } from './modern-source.ts'
import { requireTasks } from './modern-tasks.ts'
import { noted, noteOutcome } from './outcome.ts'
import type { IncomingPost } from './request.ts'
import type { Route } from './route.ts'
import { Told } from './told.ts'
import { checkParamHeaders } from './tool-headers.ts'

export class Modern {
  readonly #context: Context
  readonly #told = new Told()

  constructor(context: Context) {
    this.#context = context
  }

  /** `mode`: how the client wants it. Rejects with the GatewayError of a refusal. */
  async post(message: Message, incoming: IncomingPost, mode: ResponseMode): Promise<Answer> {
    // Over HTTP the only one of the core, a cancellation, is meant for other transports.
    if (message.kind === 'notification') return { kind: 'accepted' }
    const { note } = incoming
    const { id } = message
    note.version = incoming.version
    checkMirrored(message, incoming.rawHeaders)
    if (removed.has(message.method!)) {
      throw new GatewayError('unknown_method', `this revision has no ${message.method}`, { id })
    }
    if (ofTasks.has(message.method!)) requireTasks(message)
    const level = stringMeta(message, levelKey)
    if (level !== undefined && !isLevel(level)) {
      throw new GatewayError('meta', `params._meta["${levelKey}"] is no log level`, { id })
    }
    if (message.method === 'subscriptions/listen') {
      note.outcome = 'ok'
      return await this.#context.listens.open(message, incoming, this.#context)
    }
    const owner = this.#ownerOf(message, incoming)
    const { handOver } = this.#context
    // One that is gone is told by the check.
    if (owner !== undefined && (await handOver!.reaches(owner))) return await handOver!.pass(incoming, owner, id!)
    this.#checkState(message, incoming)
    const call = new ModernCall(message, incoming, this.#context)
    incoming.onGone(() => call.leave())
    try {
      const checking = checkParamHeaders(message, incoming, call.seat, this.#context)
      if (checking !== undefined) await checking
      return await this.#answer(message, incoming, mode, call)
    } catch (error) {
      call.over()
      throw error
    }
  }

  async #answer(request: Message, incoming: IncomingPost, mode: ResponseMode, call: ModernCall): Promise<Answer> {
    const { note, route } = incoming
    const source = new ModernSource(this.#source(request, incoming, call), call, route.backend, this.#context)
    const begun = await begin(source, mode, this.#context.sseAfter)
    if (begun.kind === 'open') {
      note.outcome = 'ok'
      const rest = noted(begun.rest, note)
      return {
        kind: 'stream',
        run: reader => {
          carry(rest, reader, request, call)
            .catch((error: unknown) => {
              facts.notice.publish({ level: 'error', text: 'a fault of the gateway ended a stream', error })
              reader.end()
            })
            .finally(() => call.over())
        }
      }
    }
    call.over()
    const response = begun.responses[0] ?? errorMessage(gaveUp(), request.id)
    noteOutcome(response, note)
    if (call.gone) note.outcome = 'cancelled'
    return { kind: 'message', body: response, status: statusOf(response) }
  }

  #source(request: Message, incoming: IncomingPost, call: ModernCall): MessageSource {
    const { note, route } = incoming
    const { backend, union } = route
    const context = this.#context
    const resumed = this.#resumed(request, incoming, call)
    if (resumed !== undefined) return resumed
    if (request.method === 'server/discover') return discover(request, route, call.seat, context)
    if (request.method!.startsWith('notifications/')) {
      return single(errorMessage(new GatewayError('method', 'a notification has no id'), request.id))
    }
    if (ofTasks.has(request.method!)) return ofTask(request, incoming, call, context)
    const run = (to: Backend, upstream: Message) => call.run(to, upstream)
    if (backend !== undefined) note.backend = backend.name
    const source =
      backend === undefined
        ? unionMethod(request.method!)({ request, live: call.seat, union: union!, context, note, run })
        : run(backend, request)
    return request.method === 'tools/list' ? withoutInvalid(source, this.#leftOut(route)) : source
  }

  #leftOut({ path, backend }: Route) {
    return (name: string, reason: string): void => {
      const tool = JSON.stringify(name.slice(0, 80))
      const text = `the tool ${tool} is left out at ${path} for clients of 2026-07-28: ${reason}`
      this.#told.tell({ level: 'warn', text, ...(backend && { backend: backend.name }) })
    }
  }

  /** The instance where the call waits that this request goes on with, when it is another one that it can be handed to. */
  #ownerOf(request: Message, { route, principal }: IncomingPost): InstanceId | undefined {
    const { parked, handOver } = this.#context
    if (handOver === undefined || !isRetry(request)) return undefined
    const state = stringParam(request, 'requestState')
    return state === undefined ? undefined : parked.elsewhere(state, { route: route.path, principal, request })
  }

  /** Refuses a state that nobody made for this request, before any backend is asked for anything. */
  #checkState(request: Message, { route, principal }: IncomingPost): void {
    if (!isRetry(request)) return
    const { parked, known, ownStates } = this.#context
    const { id } = request
    const state = stringParam(request, 'requestState')
    if (state === undefined) throw new GatewayError('params', 'params.requestState must be a string', { id })
    if (parked.knowsState(state, { route: route.path, principal, request })) return
    // One of the modern era may have made it.
    const isAllLegacy = route.backends.every(backend => isVersion(known.get(backend)?.version ?? ''))
    if (isAllLegacy) throw notGood('it was not made here', id)
    if (principal.key !== anonymous.key) {
      ownStates.check(state, { principal: principal.key, method: request.method! }, id)
    }
  }

  /** What the client sends again with what it was asked for: the call that waits for that goes on. */
  #resumed(request: Message, { route, principal, note }: IncomingPost, call: ModernCall): MessageSource | undefined {
    if (!isRetry(request)) return undefined
    const state = stringParam(request, 'requestState')!
    const claimed = this.#context.parked.claim(state, { route: route.path, principal, request })
    if (claimed === undefined) return undefined
    note.backend = claimed.interaction.backend.name
    return call.goOn(claimed)
  }
}

/** Whether it goes on with what an earlier request began. */
const isRetry = (request: Message): boolean => interactive.has(request.method!) && hasState(request)

/** Feeds an event stream: nothing of it is kept, and none of its events has an id. */
async function carry(source: MessageSource, reader: Reader, request: Message, call: ModernCall): Promise<void> {
  let answered = false
  reader.comment()
  for (let message = await source.next(); message !== undefined; message = await source.next()) {
    answered ||= message.kind === 'response'
    await reader.push(undefined, line(message))
  }
  if (!answered && !call.gone) void reader.push(undefined, line(errorMessage(gaveUp(), request.id)))
  reader.end()
}

const gaveUp = (): GatewayError => new GatewayError('backend_broke', 'the call was given up')

/** Of a response that is the whole body (decisions: "Errors to a modern client"). */
function statusOf({ source, scanned }: Message): 200 | 400 | 404 {
  const text = textOf(source, scanned.top, 'error')
  const code = text === undefined ? undefined : (JSON.parse(text) as { code?: unknown } | null)?.code
  if (code === -32601) return 404
  return code === -32021 ? 400 : 200
}
