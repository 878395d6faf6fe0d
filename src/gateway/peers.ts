/**
 * What instances tell each other of the sessions that they serve: at most once, and only so that it is noticed sooner. The
 * records and streams themselves are the truth.
 */
import type { InFlight } from '../exchanges/in-flight.ts'
import type { Bus, Unsubscribe } from '../instances/bus.ts'
import type { CloseReason, Live, Sessions } from '../sessions/lifecycle.ts'
import type { SessionId } from '../sessions/session.ts'
import { Retry } from '../streams/retry.ts'
import { facts } from '../telemetry/events.ts'
import type { Channels } from './channel.ts'

export interface PeersOptions {
  readonly bus: Bus
  readonly sessions: Sessions
  readonly inFlight: Pick<InFlight, 'find'>
  readonly channels: Pick<Channels, 'operating'>
}

interface News {
  readonly session: SessionId
  /** Of the call that its client gave up: JSON text. Left out: the record changed, or the session ended. */
  readonly cancelled?: string
  readonly reason?: string | undefined
}

const topic = 'sessions'

export class Peers {
  readonly #options: PeersOptions
  readonly #retry = new Retry()
  #unsubscribe: Unsubscribe | undefined
  #over = false

  constructor(options: PeersOptions) {
    this.#options = options
    const { sessions } = options
    sessions.onChanged(live => this.#tell({ session: live.record.id }))
    sessions.onClosed((live, reason) => this.#closed(live, reason))
    void this.#listen()
  }

  /** The client gave up a call that does not run here. */
  cancelled(live: Live, id: string, reason: string | undefined): void {
    if (!live.ephemeral) this.#tell({ session: live.record.id, cancelled: id, reason })
  }

  async close(): Promise<void> {
    this.#over = true
    this.#retry.stop()
    await this.#unsubscribe?.().catch(() => {})
  }

  #closed(live: Live, reason: CloseReason): void {
    if (!live.ephemeral && (reason === 'deleted' || reason === 'removed')) this.#tell({ session: live.record.id })
  }

  #tell(news: News): void {
    this.#options.bus.publish(topic, JSON.stringify(news)).catch(() => {})
  }

  async #listen(): Promise<void> {
    try {
      const unsubscribe = await this.#options.bus.subscribe(topic, payload => this.#hear(payload))
      if (this.#over) void unsubscribe().catch(() => {})
      else this.#unsubscribe = unsubscribe
    } catch {
      if (!this.#over) this.#retry.later(() => void this.#listen())
    }
  }

  #hear(payload: string): void {
    const news = JSON.parse(payload) as News
    const live = this.#options.sessions.local(news.session)
    if (live === undefined) return
    if (news.cancelled !== undefined) this.#options.inFlight.find(live, news.cancelled)?.cancel(news.reason)
    else void this.#refresh(live)
  }

  async #refresh({ record }: Live): Promise<void> {
    try {
      const live = await this.#options.sessions.refresh(record.id)
      if (live?.record.operating === true) this.#options.channels.operating(live)
    } catch (error) {
      facts.notice.publish({ level: 'debug', text: 'a session that changed elsewhere could not be read', error })
    }
  }
}
