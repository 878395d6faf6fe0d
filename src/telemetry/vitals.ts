/** What the process tells of its memory and of its time. */
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { EventLoop } from './event-loop.ts'

export class Vitals {
  readonly #loop: Pick<EventLoop, 'recent'>
  /** Garbage waits long for its collection: what is in use says little before that. */
  readonly #collections = new PerformanceObserver(list => {
    const full = list.getEntries().some(entry => (entry as unknown as Collection).detail.kind === major)
    if (full) this.#live = inUse()
  })
  #live = 0

  constructor(loop: Pick<EventLoop, 'recent'>) {
    this.#loop = loop
    this.#collections.observe({ entryTypes: ['gc'] })
  }

  /**
   * `heap`: part of its limit that was in use after the latest full collection, or is now when that is less. `delay`: mean
   * delay of the event loop since the last reading, in milliseconds.
   */
  read(): { readonly heap: number; readonly delay: number } {
    return { heap: Math.min(this.#live, inUse()), delay: this.#loop.recent() }
  }

  /** Collects garbage. */
  collect(): void {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as (options: object) => unknown
    collect({ type: 'major', execution: 'async' })
  }

  close(): void {
    this.#collections.disconnect()
  }
}

interface Collection {
  readonly detail: { readonly kind: number }
}

const major = constants.NODE_PERFORMANCE_GC_MAJOR

function inUse(): number {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics()
  return used / limit
}
