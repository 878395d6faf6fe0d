/**
 * Who listens to the backends of a route for one caller's subscriptions: it has links of its own, and subscribes upstream to
 * what at least one of them is about (decisions: "upstream sessions").
 */
import type { Backend } from '../backends/backend.ts'
import { Backoff } from '../backends/backoff.ts'
import { responseOf } from '../exchanges/acting.ts'
import { Running } from '../exchanges/running.ts'
import type { MessageSource } from '../exchanges/source.ts'
import { makeRequest } from '../protocol/make.ts'
import { isError, type Message } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { facts } from '../telemetry/events.ts'
import type { Context } from './context.ts'
import { giveBack } from './give-back.ts'
import type { Method, MethodCall } from './methods/method.ts'
import { subscribe, unsubscribe } from './methods/subscriptions.ts'
import { resolveUri } from './resolve-uri.ts'
import type { Route } from './route.ts'
import type { Subscription } from './subscription.ts'

interface Shared {
  readonly users: Set<Subscription>
  /** Where the upstream said yes; undefined: it did not. Never rejects. */
  readonly made: Promise<Backend | undefined>
}

export class ListeningSeat {
  readonly route: Route
  readonly live: Live
  readonly subscriptions = new Set<Subscription>()
  readonly #context: Context
  readonly #uris = new Map<string, Shared>()
  readonly #backoff = new Backoff()
  #timer: NodeJS.Timeout | undefined

  constructor(route: Route, live: Live, context: Context) {
    this.route = route
    this.live = live
    this.#context = context
    context.links.listen(live, true)
  }

  /** Something that a backend said, or that the gateway found out. The number of subscriptions that it is told to. */
  tell(message: Message): number {
    let told = 0
    for (const subscription of this.subscriptions) if (subscription.tell(message)) told++
    return told
  }

  /** Resolves to whether the upstream agreed to tell of changes of the resource. Never rejects. */
  async subscribe(uri: string, subscription: Subscription): Promise<boolean> {
    let shared = this.#uris.get(uri)
    if (shared === undefined) {
      const made = this.#turn(uri, () => this.#made(uri)).catch(() => undefined)
      shared = { users: new Set(), made }
      this.#uris.set(uri, shared)
    }
    shared.users.add(subscription)
    const agreed = (await shared.made) !== undefined
    if (!agreed && this.#uris.get(uri) === shared) this.#uris.delete(uri)
    return agreed
  }

  /** The upstream is told when this was the last one that was about the resource. */
  unsubscribe(uri: string, subscription: Subscription): void {
    const shared = this.#uris.get(uri)
    if (shared?.users.delete(subscription) !== true || shared.users.size > 0) return
    this.#uris.delete(uri)
    this.#turn(uri, async () => {
      const backend = await shared.made
      if (backend === undefined || this.live.closed || this.#uris.has(uri)) return
      await responseOf(this.#call(unsubscribe, 'resources/unsubscribe', uri, backend))
    }).catch((error: unknown) => {
      facts.notice.publish({ level: 'warn', text: 'a subscription was not withdrawn', error })
    })
  }

  /** An upstream dropped a link: it is opened again, and asked again for what was asked of it. */
  lost(): void {
    if (this.#timer !== undefined || this.live.closed) return
    this.#backoff.failed()
    this.#timer = setTimeout(() => void this.#reopen(), this.#backoff.remaining)
    this.#timer.unref()
  }

  /** Nobody listens any more. */
  close(): void {
    const { live } = this
    if (live.closed) return
    live.closed = true
    clearTimeout(this.#timer)
    for (const running of this.#context.inFlight.of(live)) running.cancel('nobody listens any more')
    giveBack(live, this.#context).catch((error: unknown) => {
      facts.notice.publish({ level: 'warn', text: 'an upstream session was not closed', error })
    })
  }

  async #reopen(): Promise<void> {
    const { links } = this.#context
    const gone = this.route.backends.filter(backend => links.ready(this.live, backend) === undefined)
    const opened = await Promise.allSettled(gone.map(backend => links.get(this.live, backend)))
    this.#timer = undefined
    if (opened.some(({ status }) => status === 'rejected')) this.lost()
  }

  async #made(uri: string): Promise<Backend | undefined> {
    const { links, linked } = this.#context
    const { backend: only, union } = this.route
    const backend = only ?? (await resolveUri(union!, uri, this.live, linked.of(uri, this.live))).backend
    const { server } = await links.get(this.live, backend)
    const { resources } = server.capabilities as { resources?: { readonly subscribe?: unknown } }
    if (resources?.subscribe !== true) return undefined
    const response = await responseOf(this.#call(subscribe, 'resources/subscribe', uri, backend))
    return response === undefined || isError(response) ? undefined : backend
  }

  #call(method: Method, name: string, uri: string, backend: Backend): MessageSource {
    const { live } = this
    const context = this.#context
    const call: MethodCall = {
      request: makeRequest('0', name, { uri }),
      live,
      backend,
      context,
      run: request => new Running(live, backend, request, false, context.running),
      ...(this.route.union !== undefined && { placed: true })
    }
    return method(call)
  }

  /** What is done for one resource does not overlap. */
  #turn<T>(uri: string, act: () => Promise<T>): Promise<T> {
    return this.#context.turns.run(`${this.live.record.id} listens ${uri}`, act)
  }
}
