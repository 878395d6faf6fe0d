/** How long a result may be kept, and by whom (2026-07-28 server/utilities/caching; decisions: "`ttlMs`, `cacheScope`"). */
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

/** From the JSON texts of both members; undefined: it is not there. */
export function hintOf(ttlMs: string | undefined, cacheScope: string | undefined): Hint {
  const ms = ttlMs !== undefined && /^\d{1,15}$/.test(ttlMs) ? Number(ttlMs) : 0
  return { ttlMs: ms, shared: cacheScope === '"public"' }
}

/** Of what is made of several: the shortest time, and private when one of them is. */
export function together(hints: readonly Hint[]): Hint {
  if (hints.length === 0) return noHint
  return { ttlMs: Math.min(...hints.map(({ ttlMs }) => ttlMs)), shared: hints.every(({ shared }) => shared) }
}

/** The response with both members. Its result has others, and neither of these. */
export function withHint(response: Message, { ttlMs, shared }: Hint): Message {
  const { keys, spans } = response.scanned.top
  const at = spans[2 * keys.indexOf('result')]! + 1
  const text = `"ttlMs":${Math.floor(ttlMs)},"cacheScope":"${shared ? 'public' : 'private'}",`
  return splice(response, { start: at, end: at, text })
}
