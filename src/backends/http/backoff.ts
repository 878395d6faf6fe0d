/** How long to wait before the next attempt. */
import type { Clock } from '../clock.ts'

export interface Pauses {
  /** Milliseconds after the first failure; doubles from then on. */
  readonly first: number
  /** Milliseconds at most. */
  readonly most: number
}

/**
 * Milliseconds after `failures` failed attempts in a row (1 or more): between half and all of the doubled value, so that
 * many who failed together do not come back together.
 */
export function backoff(failures: number, { first, most }: Pauses, clock: Clock): number {
  const full = Math.min(most, first * 2 ** Math.min(failures - 1, 30))
  return Math.round(full / 2 + (full / 2) * clock.random())
}
