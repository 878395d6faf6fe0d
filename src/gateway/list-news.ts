/**
 * `list_changed` for the sessions of a route with several backends (NTF-05): what a backend says, or what became of it, makes
 * its lists be read again; a session hears of it when the merged list is another one, and once a second at most.
 */
import { setImmediate as otherWork } from 'node:timers/promises'
import type { Backend } from '../backends/backend.ts'
import { makeNotification } from '../protocol/make.ts'
import type { Message } from '../protocol/message.ts'
import type { Live, Sessions } from '../sessions/lifecycle.ts'
import { facts } from '../telemetry/events.ts'
import { type Kind, kinds } from './list-items.ts'
import type { Route } from './route.ts'
import type { Union } from './union.ts'
import type { View } from './view.ts'

export interface NewsOptions {
  /** Those that are served now. */
  readonly routes: () => Iterable<Route>
  readonly sessions: Pick<Sessions, 'locals'>
  /** Whether the session has an open link to the backend. */
  readonly linked: (live: Live, backend: Backend) => boolean
  /** On the session's channel. */
  readonly post: (live: Live, message: Message) => void
  /** Milliseconds from what was heard to the first look, and between two notifications to a session. */
  readonly pauseMs?: number
  readonly everyMs?: number
}

/** Sessions told before calls get their turn. */
const turn = 250

interface Pending {
  readonly backends: Set<Backend>
  readonly kinds: Set<Kind>
  /** A backend said that its list changed. */
  said: boolean
}

/** Of one capability at one union. */
interface State {
  pending: Pending | undefined
  timer: NodeJS.Timeout | undefined
  looking: boolean
  /** Not before this time. */
  next: number
}

export class ListNews {
  readonly #options: NewsOptions
  readonly #states = new WeakMap<Union, Map<Kind['capability'], State>>()
  readonly #timers = new Set<NodeJS.Timeout>()
  #closed = false

  constructor(options: NewsOptions) {
    this.#options = options
  }

  /** A list of the backend may be another one. `said`: it says so itself. */
  changed(backend: Backend, kind: Kind, said: boolean): void {
    if (this.#closed) return
    for (const { union } of this.#options.routes()) if (union?.has(backend)) this.#pend(union, kind, [backend], said)
  }

  /** The union took the place of another. `touched`: those of its backends whose part in the lists is another one than before. */
  succeeded(
    union: Union,
    before: Union,
    touched: (capability: Kind['capability']) => readonly Backend[] | undefined
  ): void {
    if (this.#closed) return
    for (const kind of Object.values(kinds)) {
      const { next, pending } = this.#state(before, kind.capability)
      this.#state(union, kind.capability).next = next
      const backends = touched(kind.capability)
      if (backends !== undefined) this.#pend(union, kind, backends, false)
      // What was heard a moment ago.
      if (pending?.kinds.has(kind))
        this.#pend(
          union,
          kind,
          [...pending.backends].filter(one => union.has(one)),
          pending.said
        )
    }
  }

  close(): void {
    this.#closed = true
    for (const timer of this.#timers) clearTimeout(timer)
  }

  #pend(union: Union, kind: Kind, backends: readonly Backend[], said: boolean): void {
    const state = this.#state(union, kind.capability)
    state.pending ??= { backends: new Set(), kinds: new Set(), said: false }
    for (const backend of backends) state.pending.backends.add(backend)
    state.pending.kinds.add(kind)
    state.pending.said ||= said
    this.#schedule(union, kind.capability, state)
  }

  #state(union: Union, capability: Kind['capability']): State {
    const states = this.#states.get(union) ?? new Map<Kind['capability'], State>()
    this.#states.set(union, states)
    let state = states.get(capability)
    if (state === undefined) {
      state = { pending: undefined, timer: undefined, looking: false, next: 0 }
      states.set(capability, state)
    }
    return state
  }

  #schedule(union: Union, capability: Kind['capability'], state: State): void {
    if (state.timer !== undefined || state.looking || state.pending === undefined || this.#closed) return
    const { pauseMs = 50 } = this.#options
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer)
        state.timer = undefined
        void this.#look(union, capability, state)
      },
      Math.max(pauseMs, state.next - performance.now())
    )
    timer.unref()
    this.#timers.add(timer)
    state.timer = timer
  }

  async #look(union: Union, capability: Kind['capability'], state: State): Promise<void> {
    const pending = state.pending!
    state.pending = undefined
    // What is served no more has no sessions: those of its path see what came in its place.
    if (![...this.#options.routes()].some(route => route.union === union)) return
    state.looking = true
    try {
      await Promise.all(
        [...this.#audiences(union)].map(([view, lives]) => this.#lookFor(view, lives, capability, pending))
      )
    } catch (error) {
      facts.notice.publish({ level: 'error', text: 'a fault of the gateway: list_changed was not told', error })
    }
    state.next = performance.now() + (this.#options.everyMs ?? 1_000)
    state.looking = false
    this.#schedule(union, capability, state)
  }

  /** The sessions of the route, by what they see. Nobody is told of what happened before there were any. */
  #audiences(union: Union): Map<View, Live[]> {
    const audiences = new Map<View, Live[]>()
    for (const live of this.#options.sessions.locals()) {
      if (live.record.route !== union.options.path || live.closed) continue
      const view = union.view(live)
      const lives = audiences.get(view)
      if (lives === undefined) audiences.set(view, [live])
      else lives.push(live)
    }
    for (const view of union.views()) if (!audiences.has(view)) view.given.clear()
    return audiences
  }

  async #lookFor(view: View, lives: Live[], capability: Kind['capability'], pending: Pending): Promise<void> {
    let differs = false
    for (const kind of pending.kinds) {
      // Whoever was never given a list cannot tell whether it is another one.
      if (!view.given.has(kind)) differs ||= pending.said
      else if (await this.#isOther(view, lives, kind, pending.backends)) differs = true
    }
    if (!differs) return
    const message = makeNotification(`notifications/${capability}/list_changed`)
    for (const [i, live] of lives.entries()) {
      if (!live.closed) this.#options.post(live, message)
      if ((i + 1) % turn === 0) await otherWork()
    }
  }

  async #isOther(view: View, lives: Live[], kind: Kind, backends: ReadonlySet<Backend>): Promise<boolean> {
    const open = lives.filter(live => !live.closed)
    const reader = open.find(live => [...backends].every(backend => this.#options.linked(live, backend))) ?? open[0]
    if (reader === undefined) return false
    await view.readOf(kind, reader, backends)
    const { hash } = await view.merged(kind)
    if (view.given.get(kind) === hash) return false
    view.given.set(kind, hash)
    return true
  }
}

/** The kinds that a notification is about; none when it is no `list_changed`. */
export const capabilityOf = (method: string): Kind['capability'] | undefined => {
  const name = /^notifications\/(\w+)\/list_changed$/.exec(method)?.[1]
  return Object.values(kinds).find(({ capability }) => capability === name)?.capability
}
