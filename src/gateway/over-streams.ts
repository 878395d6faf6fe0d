/**
 * Streams of POSTs that were over on this instance, remembered for longer than the log keeps them: a client that comes
 * back too late gets one error, not silence (decisions: "`Last-Event-ID`", "How a call ends").
 */
import type { SessionId } from '../sessions/session.ts'
import type { StreamKey } from '../streams/stream-log.ts'

export interface OverStream {
  /** Ids of the requests that it answered. */
  readonly ids: readonly string[]
  /** Number of its last event. */
  readonly last: number
  /** Whether the log had all of it. */
  readonly logged: boolean
}

/** The oldest are forgotten first; some hundred bytes each. */
const most = 10_000

export class OverStreams {
  readonly #streams = new Map<string, OverStream & { readonly session: SessionId }>()

  add({ session, stream }: StreamKey, over: OverStream): void {
    this.#streams.set(stream, { session, ...over })
    if (this.#streams.size <= most) return
    const [oldest] = this.#streams.keys()
    this.#streams.delete(oldest!)
  }

  get({ session, stream }: StreamKey): OverStream | undefined {
    const over = this.#streams.get(stream)
    return over?.session === session ? over : undefined
  }
}
