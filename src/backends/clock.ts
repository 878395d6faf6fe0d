/** Timers and chance, injectable. */
export interface Clock {
  /** Milliseconds. */
  now(): number
  /** Calls back after `ms`; the function returned forgets it. */
  after(ms: number, call: () => void): () => void
  random(): number
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, call) {
    const timer = setTimeout(call, ms)
    return () => clearTimeout(timer)
  },
  random: Math.random
}
