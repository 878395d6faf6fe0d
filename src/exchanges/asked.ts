/**
 * Requests of upstreams to clients, on their way and back. Ids are the gateway's: unguessable, unique in the session,
 * independent of stream, connection and instance, and recognised without memory of what was asked (R110a, R113).
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Link } from '../backends/backend.ts'
import { withId, withParam } from '../protocol/edit.ts'
import { makeError, makeNotification } from '../protocol/make.ts'
import { type Message, sameId, textParam } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { SessionId } from '../sessions/session.ts'
import { facts } from '../telemetry/events.ts'

/** Who waits with the ask: the call it belongs to. */
export interface Asker {
  /** An ask of the call was sent; it stands still. */
  asked(): void
  /** One ask less is open. */
  answered(): void
  /** A message for the call's stream. */
  inject(message: Message): void
}

interface Ask {
  /** The id as the client sees it, without quotes; also the label of the log entry. */
  readonly label: string
  readonly live: Live
  readonly link: Link
  readonly upstreamId: string
  readonly asker: Asker | undefined
  timer: NodeJS.Timeout | undefined
}

export interface AskedOptions {
  /** `input.timeout`. */
  readonly timeoutMs: number
  /** The notice for the client when an ask that belongs to no call is cancelled. */
  readonly notify: (live: Live, message: Message) => void
}

export class Asked {
  readonly #options: AskedOptions
  readonly #key = randomBytes(32)
  readonly #open = new Map<string, Ask>()
  #count = 0

  constructor(options: AskedOptions) {
    this.#options = options
  }

  /** The upstream's request under an id of ours; from now on its answer is awaited. */
  ask(request: Message, live: Live, link: Link, asker: Asker | undefined): Message {
    this.#count++
    const label = this.#label(live.record.id, this.#count.toString(36))
    const ask: Ask = { label, live, link, upstreamId: request.id!, asker, timer: undefined }
    ask.timer = setTimeout(() => this.#expire(ask), this.#options.timeoutMs)
    this.#open.set(label, ask)
    asker?.asked()
    return withId(request, `"${label}"`)
  }

  /** Whether the ask with this label still waits. */
  pending(label: string): boolean {
    return this.#open.has(label)
  }

  /** Open asks of a session. */
  count(live: Live): number {
    let count = 0
    for (const ask of this.#open.values()) if (ask.live === live) count++
    return count
  }

  /**
   * The client's answer: `forwarded` once, `late` when it was answered, cancelled or given up before, `unknown` when this
   * session was never asked that.
   */
  answer(response: Message, live: Live): 'forwarded' | 'late' | 'unknown' {
    const label = labelOf(response.id)
    if (label === undefined) return 'unknown'
    const ask = this.#open.get(label)
    if (ask === undefined || ask.live !== live) return this.#isOurs(label, live.record.id) ? 'late' : 'unknown'
    this.#close(ask)
    this.#send(ask, withId(response, ask.upstreamId))
    return 'forwarded'
  }

  /** The upstream's `notifications/cancelled` for a request of its own, with the id that the client knows. */
  cancelledBy(
    link: Link,
    notice: Message
  ): { readonly message: Message; readonly live: Live; readonly asker: Asker | undefined } | undefined {
    const upstreamId = textParam(notice, 'requestId')
    if (upstreamId === undefined) return undefined
    for (const ask of this.#open.values()) {
      if (ask.link !== link || !sameId(ask.upstreamId, upstreamId)) continue
      this.#close(ask)
      return { message: withParam(notice, 'requestId', `"${ask.label}"`), live: ask.live, asker: ask.asker }
    }
    return undefined
  }

  /** The call is over: nobody upstream waits for its asks any more, and the client is told. */
  drop(asker: Asker): void {
    for (const ask of this.#open.values()) {
      if (ask.asker !== asker) continue
      this.#close(ask)
      asker.inject(cancelled(ask, 'the call is over'))
    }
  }

  /** The session, or the link, is over. */
  forget(of: Live | Link): void {
    for (const ask of this.#open.values()) if (ask.live === of || ask.link === of) this.#close(ask)
  }

  close(): void {
    for (const ask of this.#open.values()) this.#close(ask)
  }

  #close(ask: Ask): void {
    this.#open.delete(ask.label)
    clearTimeout(ask.timer)
    ask.asker?.answered()
  }

  #expire(ask: Ask): void {
    this.#close(ask)
    this.#send(ask, makeError(ask.upstreamId, -32603, 'the client did not answer', { reason: 'input_timeout' }))
    const notice = cancelled(ask, 'timed out')
    if (ask.asker === undefined) this.#options.notify(ask.live, notice)
    else ask.asker.inject(notice)
  }

  #send(ask: Ask, response: Message): void {
    ask.link.send(response).catch((error: unknown) => {
      facts.notice.publish({ level: 'warn', text: 'an answer of the client did not reach the backend', error })
    })
  }

  #label(session: SessionId, count: string): string {
    return `${count}.${createHmac('sha256', this.#key).update(`${session} ${count}`).digest('base64url').slice(0, 22)}`
  }

  #isOurs(label: string, session: SessionId): boolean {
    const expected = Buffer.from(this.#label(session, label.slice(0, label.indexOf('.'))))
    const given = Buffer.from(label)
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
}

const cancelled = (ask: Ask, reason: string): Message =>
  makeNotification('notifications/cancelled', { requestId: ask.label, reason })

function labelOf(id: string | undefined): string | undefined {
  if (id === undefined || id.charCodeAt(0) !== 0x22) return undefined
  return JSON.parse(id) as string
}
