/**
 * A route took the place of another: each of its sessions hears, once, of each kind of list that is another one than before
 * (LIF-03; decisions: "What do sessions hear of a change?").
 */
import { setImmediate as otherWork } from 'node:timers/promises'
import type { ListCapability, TouchedLists } from '../config/touched-lists.ts'
import { listKinds } from '../protocol/list-kinds.ts'
import { makeNotification } from '../protocol/make.ts'
import type { Message } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { ListNews } from './list-news.ts'
import { type MeetContext, serversOf } from './methods/meet.ts'
import type { Route } from './route.ts'

export interface Succession {
  /** Undefined: the path is new. */
  readonly was: Route | undefined
  readonly now: Route
  readonly touched: TouchedLists
}

export interface SuccessionContext extends MeetContext {
  readonly news: Pick<ListNews, 'succeeded'>
  /** `list_changed` of what the session's client was told there is. */
  readonly changes: (live: Live) => readonly Message[]
  readonly post: (live: Live, message: Message) => void
}

/** Sessions told before calls get their turn. */
const turn = 250

const capabilities = Object.keys(listKinds) as ListCapability[]

/**
 * Whoever was given a list hears of it when it is found, by reading, to be another one. Others hear of what may be another
 * one, as far as is known once backends that are new were met. Resolves when these were told.
 */
export async function succeeded(lives: readonly Live[], succession: Succession, context: SuccessionContext) {
  const { now, touched } = succession
  const open = capabilities.filter(capability => touched[capability].size > 0)
  inherit(lives, succession, open, context.news)
  const isGiven = (live: Live, capability: ListCapability): boolean =>
    now.union?.view(live).wasGiven(capability) === true
  const waiting = lives.filter(live => open.some(capability => !isGiven(live, capability)))
  if (waiting.length === 0) return
  if (now.union !== undefined) await serversOf(waiting[0]!, now.union, context).catch(() => {})
  const differing = open.filter(capability => mayDiffer(capability, succession, context))
  for (const [i, live] of waiting.entries()) {
    const told = new Set(context.changes(live).map(({ method }) => method))
    for (const capability of differing) {
      const { method } = listKinds[capability]!
      if (!live.closed && told.has(method) && !isGiven(live, capability)) context.post(live, makeNotification(method))
    }
    if ((i + 1) % turn === 0) await otherWork()
  }
}

/** What sessions were given at the route before is what they know. */
function inherit(
  lives: readonly Live[],
  { was, now, touched }: Succession,
  open: readonly ListCapability[],
  news: SuccessionContext['news']
): void {
  if (was?.union === undefined || now.union === undefined) return
  for (const live of lives) now.union.view(live).inherit(was.union.view(live))
  news.succeeded(now.union, was.union, capability =>
    open.includes(capability) ? now.backends.filter(({ name }) => touched[capability].has(name)) : undefined
  )
}

/** Not, when none of the backends that came, left or changed has anything of the kind. */
const mayDiffer = (capability: ListCapability, { was, now, touched }: Succession, { known }: MeetContext): boolean =>
  [...(was?.backends ?? []), ...now.backends].some(
    backend => touched[capability].has(backend.name) && known.has(backend, capability) !== false
  )
