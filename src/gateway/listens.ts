/** `subscriptions/listen`: the streams on which modern clients hear of changes (2026-07-28 basic/patterns/subscriptions). */
import { GatewayError, toGatewayError } from '../errors.ts'
import { makeNotification } from '../protocol/make.ts'
import type { Message } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Caps } from '../sessions/session.ts'
import type { Answer } from './answer.ts'
import type { Context } from './context.ts'
import { type HonourOptions, honour } from './honour.ts'
import { filterOf } from './listen-filter.ts'
import { ListeningSeat } from './listening-seat.ts'
import { serverInfoOf } from './modern-source.ts'
import type { IncomingPost } from './request.ts'
import type { Route } from './route.ts'
import type { Caller } from './seats.ts'
import { self } from './self.ts'
import { Subscription } from './subscription.ts'
import { TaskListening } from './task-listening.ts'

/** Read when they are used: they may change. */
export interface ListensOptions extends HonourOptions {
  /** Of subscriptions that are open, in all and by address. */
  readonly caps: Caps
  /** Who is served at a path now. */
  readonly find: (path: string) => Route | undefined
}

export class Listens {
  readonly #options: ListensOptions
  /** By route and principal. */
  readonly #listenings = new Map<string, ListeningSeat>()
  readonly #byLive = new Map<Live, ListeningSeat>()
  readonly #byAddress = new Map<string, number>()
  #size = 0
  #closed = false

  constructor(options: ListensOptions) {
    this.#options = options
  }

  /** Subscriptions that are open. */
  get size(): number {
    return this.#size
  }

  /** Who listens upstream. */
  lives(): Iterable<Live> {
    return this.#byLive.keys()
  }

  /**
   * A stream that begins with the acknowledgement. Rejects with GatewayError `meta` (malformed), `full`, and where there is
   * one backend that cannot be reached with its error.
   */
  async open(request: Message, incoming: IncomingPost, context: Context): Promise<Answer> {
    const { id } = request
    const { route } = incoming
    const filter = filterOf(request)
    if (!incoming.accepts.sse) {
      throw new GatewayError('not_acceptable', 'Accept must admit text/event-stream: changes come as events', { id })
    }
    const leave = this.#enter(incoming.address, id!)
    const subscription = new Subscription(id!, filter)
    const listening = this.#listening(
      { route: route.path, principal: incoming.principal, address: incoming.address },
      route,
      context
    )
    listening.subscriptions.add(subscription)
    const tasks = new TaskListening(incoming, context, subscription)
    const over = once(() => {
      leave()
      tasks.close()
      this.#leave(listening, subscription)
    })
    incoming.onGone(over)
    try {
      const [agreed, told] = await Promise.all([
        honour(subscription, listening, context, this.#options),
        tasks.open(filter.tasks)
      ])
      const honoured = { ...agreed, tasks: told }
      const backend = route.backend && context.known.get(route.backend)
      if (this.#closed || this.#options.find(route.path) !== route) subscription.end()
      return {
        kind: 'stream',
        run: reader => {
          reader.onGone(over)
          subscription.begin(reader, honoured, serverInfoOf(backend) ?? self.info)
        }
      }
    } catch (error) {
      over()
      throw toGatewayError(error).withId(id)
    }
  }

  /** Something about the backends of one who listens; nothing for any other. */
  tell(live: Live, message: Message): void {
    this.#byLive.get(live)?.tell(message)
  }

  /** To everybody who listens on the route. The number of those who wanted to hear it. */
  broadcast(route: string, message: Message): number {
    let told = 0
    for (const listening of this.#byLive.values()) if (listening.route.path === route) told += listening.tell(message)
    return told
  }

  /** What an upstream said for a while was not heard. Where there are several, their lists are compared. */
  missed(live: Live): void {
    const listening = this.#byLive.get(live)
    if (listening?.route.union !== undefined) return
    for (const list of ['tools', 'prompts', 'resources']) {
      listening?.tell(makeNotification(`notifications/${list}/list_changed`))
    }
  }

  /** An upstream dropped the link. */
  lost(live: Live): void {
    this.#byLive.get(live)?.lost()
  }

  /** Ends what listens to a route that is not served any more as it was: clients listen anew. */
  reloaded(): void {
    for (const listening of this.#byLive.values()) {
      if (this.#options.find(listening.route.path) !== listening.route) this.#end(listening)
    }
  }

  /** Ends all: nothing is listened to any more. */
  drain(): void {
    this.#closed = true
    for (const listening of this.#byLive.values()) this.#end(listening)
  }

  #end(listening: ListeningSeat): void {
    for (const subscription of listening.subscriptions) subscription.end()
  }

  /** The bounds; gives back what gives the place back. */
  #enter(address: string, id: string): () => void {
    const { caps } = this.#options
    const of = this.#byAddress.get(address) ?? 0
    if (this.#size >= caps.total || of >= caps.perGroup) {
      throw new GatewayError('full', 'too many subscriptions are open', { id, headers: { 'retry-after': '30' } })
    }
    this.#size++
    this.#byAddress.set(address, of + 1)
    return () => {
      this.#size--
      const left = this.#byAddress.get(address)! - 1
      if (left > 0) this.#byAddress.set(address, left)
      else this.#byAddress.delete(address)
    }
  }

  #listening(caller: Omit<Caller, 'capabilities'>, route: Route, context: Context): ListeningSeat {
    const key = `${caller.route} ${caller.principal.key}`
    let listening = this.#listenings.get(key)
    if (listening?.route !== route) {
      listening = new ListeningSeat(route, context.seats.ear(caller), context)
      this.#listenings.set(key, listening)
      this.#byLive.set(listening.live, listening)
    }
    return listening
  }

  #leave(listening: ListeningSeat, subscription: Subscription): void {
    const { live, subscriptions } = listening
    if (!subscriptions.delete(subscription)) return
    if (subscriptions.size > 0) {
      for (const uri of subscription.filter.uris) listening.unsubscribe(uri, subscription)
      return
    }
    const key = `${live.record.route} ${live.record.principal}`
    if (this.#listenings.get(key) === listening) this.#listenings.delete(key)
    this.#byLive.delete(live)
    listening.close()
  }
}

function once(act: () => void): () => void {
  let done = false
  return () => {
    if (!done) act()
    done = true
  }
}
