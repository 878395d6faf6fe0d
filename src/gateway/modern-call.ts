/** One modern request on its way: the calls at backends that it takes, all given up when its client leaves, and what stands for it there. */
import type { Backend } from '../backends/backend.ts'
import { legacyCapabilities } from '../bridge/legacy-capabilities.ts'
import type { Claimed } from '../bridge/parked.ts'
import { Running } from '../exchanges/running.ts'
import { type Message, textMeta } from '../protocol/message.ts'
import { foreignName } from '../protocol/mirrored.ts'
import { capabilitiesKey, interactive } from '../protocol/modern.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Context } from './context.ts'
import type { Holder } from './modern-handles.ts'
import type { IncomingPost } from './request.ts'
import type { Caller } from './seats.ts'

/** Whose request it is. */
export type Asker = Pick<IncomingPost, 'route' | 'principal' | 'address' | 'rawHeaders'>

export class ModernCall {
  readonly caller: Caller
  readonly request: Message
  /** Reads lists, and is what the backends that pool know. */
  readonly seat: Live
  readonly #holder: Holder
  readonly #context: Context
  readonly #canBeAsked: boolean
  readonly #named: string | undefined
  readonly #running: Running[] = []
  /** What was taken for this call alone, when it is left. */
  readonly #stands: (() => Live | undefined)[] = []
  #gone = false

  constructor(request: Message, { route, principal, address, rawHeaders }: Asker, context: Context) {
    const { text, inputs } = legacyCapabilities(textMeta(request, capabilitiesKey)!)
    this.request = request
    this.#named = foreignName(request, rawHeaders)
    this.#holder = { route, principal }
    this.caller = { route: route.path, principal, address, capabilities: text }
    this.#canBeAsked = inputs
    this.#context = context
    this.seat = context.seats.seat(this.caller)
    this.seat.busy++
  }

  /** Whether the client left. */
  get gone(): boolean {
    return this.#gone
  }

  /** Sends the request, or what became of it, to a backend. */
  run(backend: Backend, upstream: Message): Running {
    const { seats, running: context, desks } = this.#context
    if (this.#context.keepsTasks(backend)) {
      const live = seats.home(this.caller)
      seats.hold(live)
      this.#stands.push(() => live)
      return this.#begin(new Running(live, backend, upstream, false, context))
    }
    if (seats.pools(backend, this.caller) && !this.#isAlone(backend)) {
      return this.#begin(new Running(this.seat, backend, upstream, false, context))
    }
    if (!this.#isAlone(backend)) {
      const live = seats.stand(this.caller)
      this.#stands.push(() => live)
      return this.#begin(new Running(live, backend, upstream, false, context))
    }
    const desk = desks.take(this.caller, backend)
    this.#stands.push(() => desk.leave())
    if (desk.live !== undefined) return this.#begin(new Running(desk.live, backend, upstream, false, context))
    const { links } = context
    const waiting = {
      ready: () => desk.live && links.ready(desk.live, backend),
      get: async () => links.get(await desk.ready, backend)
    }
    return this.#begin(new Running(this.seat, backend, upstream, false, { ...context, links: waiting }))
  }

  /** Goes on with a call that waited for what this request brings. */
  goOn(claimed: Claimed): Running {
    const { running: context, parked } = this.#context
    const { live, backend, bridge } = claimed.interaction
    const links = { ready: () => bridge, get: async () => bridge }
    const running = new Running(live, backend, this.request, false, { ...context, links })
    parked.resume(running, claimed)
    return this.#begin(running)
  }

  /** The client left: that cancels (2026-07-28 basic/patterns/cancellation). */
  leave(): void {
    this.#gone = true
    for (const running of this.#running) {
      running.cancel('the client left')
      this.#context.parked.left(running)
    }
  }

  #begin(running: Running): Running {
    const { route, principal } = this.caller
    if (interactive.has(this.request.method!)) {
      running.origin = { route, principal, request: this.request }
    }
    if (this.#named !== undefined) running.named = this.#named
    this.#running.push(running)
    if (this.#gone) running.cancel('the client left')
    return running
  }

  /** Whether the backend would not say which of several calls it asks for. */
  #isAlone(backend: Backend): boolean {
    return (
      this.#canBeAsked &&
      backend.scope === 'session' &&
      this.#context.isPipe(backend) &&
      interactive.has(this.request.method!)
    )
  }

  /** The last call that was made: of several backends one answers. */
  get asked(): Running | undefined {
    return this.#running.at(-1)
  }

  /** A task belongs to the backend that was asked last: a call that begins one, or is about one, asks one alone. */
  taskName(id: string, isNew: boolean): string {
    const { backend, live } = this.asked!
    const { taskHandles, taskKeeping, keepsTasks } = this.#context
    if (isNew && keepsTasks(backend)) taskKeeping.keep(live)
    return taskHandles.of({ backend, id }, this.#holder)
  }

  /** The answer is out, or nobody waits for it. */
  over(): void {
    const { parked, seats } = this.#context
    this.seat.busy--
    for (const running of this.#running) parked.over(running)
    if (this.#stands.length === 0) return
    for (const stand of this.#stands.splice(0)) {
      const live = stand()
      if (live !== undefined) seats.drop(live)
    }
  }
}
