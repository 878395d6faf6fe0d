/**
 * How near the process is to the end of its memory or of its time. What is open then goes on, and what is new waits elsewhere:
 * better a refusal than the end of everybody (P4).
 */
import { facts } from '../telemetry/events.ts'

/** `high`: no new sessions. `full`: no requests but DELETE. */
export type Level = 'none' | 'high' | 'full'

export interface Reading {
  /** Part of the heap's limit that was in use after the latest full collection, or is now when that is less. */
  readonly heap: number
  /** Mean delay of the event loop since the last reading, in milliseconds. */
  readonly delay: number
}

/** What the process tells. */
export interface Vitals {
  read(): Reading
  /** Collects garbage: with nothing new there is no end to what looks full. */
  collect(): void
  close(): void
}

/** Per cent, and milliseconds. */
const bounds = { heapHigh: 85, heapFull: 95, delayHigh: 500, delayFull: 2_000 }

/** Milliseconds between two readings. */
const everyMs = 250
/** The least of so many counts: one long task is no pressure. */
const lasting = 4
/** Readings between two collections under pressure. */
const patience = 40

export class Pressure {
  readonly #vitals: Vitals
  readonly #timer: NodeJS.Timeout
  readonly #readings: Reading[] = []
  #level: Level = 'none'
  /** Readings since the level changed, or since the latest collection of ours. */
  #since = 0

  constructor(vitals: Vitals) {
    this.#vitals = vitals
    this.#timer = setInterval(() => this.look(), everyMs)
    this.#timer.unref()
  }

  get level(): Level {
    return this.#level
  }

  /** Once every {@link everyMs}. */
  look(): void {
    this.#readings.push(this.#vitals.read())
    if (this.#readings.length < lasting) return
    if (this.#readings.length > lasting) this.#readings.shift()
    const heap = Math.min(...this.#readings.map(reading => reading.heap))
    const delay = Math.min(...this.#readings.map(reading => reading.delay))
    this.#set(levelOf(heap, delay), heap, delay)
    if (100 * heap < bounds.heapHigh || ++this.#since < patience) return
    this.#since = 0
    this.#vitals.collect()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#vitals.close()
  }

  #set(level: Level, heap: number, delay: number): void {
    if (level === this.#level) return
    this.#level = level
    this.#since = 0
    const what = { none: 'new work is taken again', high: 'new sessions are refused', full: 'new requests are refused' }
    const found = `${Math.round(heap * 100)} % of the heap in use, the event loop ${Math.round(delay)} ms late`
    facts.notice.publish({ level: level === 'none' ? 'info' : 'warn', text: `${what[level]}: ${found}` })
  }
}

function levelOf(heap: number, delay: number): Level {
  if (100 * heap >= bounds.heapFull || delay >= bounds.delayFull) return 'full'
  return 100 * heap >= bounds.heapHigh || delay >= bounds.delayHigh ? 'high' : 'none'
}
