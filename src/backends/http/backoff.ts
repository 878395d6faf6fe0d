/** How long to wait before the next attempt. */

export interface Backoff {
  /** Milliseconds before the second attempt; doubles from then on. */
  readonly first: number
  /** Milliseconds at most. */
  readonly most: number
}

/**
 * Milliseconds after `failures` failed attempts in a row (1 or more): between half and all of the doubled value, so that
 * many who failed together do not come back together. `random` is in [0, 1).
 */
export function backoff(failures: number, { first, most }: Backoff, random: () => number): number {
  const full = Math.min(most, first * 2 ** Math.min(failures - 1, 30))
  return Math.round(full / 2 + (full / 2) * random())
}
