/** How long a result may be kept, and by whom (2026-07-28 server/utilities/caching; decisions: "`ttlMs`, `cacheScope`"). */
import type { Server } from '../backends/backend.ts'
import { splice } from '../protocol/edit.ts'
import type { Message } from '../protocol/message.ts'

export interface Hint {
  /** Milliseconds. */
  readonly ttlMs: number
  /** Whether it is the same for everybody. */
  readonly shared: boolean
}

/** Of whoever says nothing. */
export const noHint: Hint = { ttlMs: 0, shared: false }

/** From the JSON texts of both members; undefined: it is not there. Undefined when neither is. */
export function hintOf(ttlMs: string | undefined, cacheScope: string | undefined): Hint | undefined {
  if (ttlMs === undefined && cacheScope === undefined) return undefined
  const ms = ttlMs !== undefined && /^\d{1,15}$/.test(ttlMs) ? Number(ttlMs) : 0
  return { ttlMs: ms, shared: cacheScope === '"public"' }
}

/** Of what is made of several: the shortest time, and private when one of them is. */
export function together(hints: readonly Hint[]): Hint {
  if (hints.length === 0) return noHint
  return { ttlMs: Math.min(...hints.map(({ ttlMs }) => ttlMs)), shared: hints.every(({ shared }) => shared) }
}

/** What a modern server says of how long what it says of itself may be kept, less the time since; undefined: nothing. */
export function ofDiscovery({ discovered, discoveredAt = 0 }: Server, now = performance.now()): Hint | undefined {
  if (discovered === undefined) return undefined
  const { ttlMs, cacheScope } = JSON.parse(discovered) as { ttlMs?: unknown; cacheScope?: unknown }
  const hint = hintOf(JSON.stringify(ttlMs), JSON.stringify(cacheScope))
  return hint && after(hint, now - discoveredAt)
}

/** What is left of it after a time. */
export const after = ({ ttlMs, shared }: Hint, ms: number): Hint => ({ ttlMs: Math.max(0, ttlMs - ms), shared })

/** The members of a result that say it. */
export const membersOf = ({ ttlMs, shared }: Hint) => ({
  ttlMs: Math.floor(ttlMs),
  cacheScope: shared ? ('public' as const) : ('private' as const)
})

/** The response with both members. Its result has others, and neither of these. */
export function withHint(response: Message, hint: Hint): Message {
  const { keys, spans } = response.scanned.top
  const at = spans[2 * keys.indexOf('result')]! + 1
  const text = `${JSON.stringify(membersOf(hint)).slice(1, -1)},`
  return splice(response, { start: at, end: at, text })
}
