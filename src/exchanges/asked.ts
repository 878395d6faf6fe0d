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
import { AskTokens } from './ask-tokens.ts'

/** Who waits with the ask: the call that it belongs to, or the calls that it may belong to. */
export interface Asker {
  /** An ask was sent: the call stands still. */
  asked(): void
  /** One ask less is open. */
  answered(): void
  /** A message about an ask, for the client. */
  tell(message: Message): void
}

interface Ask {
  /** The id as the client sees it, without quotes; also the label of the log entry. */
  readonly label: string
  readonly live: Live
  readonly link: Link
  readonly method: string
  readonly upstreamId: string
  readonly asker: Asker
  timer: NodeJS.Timeout | undefined
}

export interface AskedOptions {
  /** `input.timeout`, milliseconds. */
  readonly timeoutMs: number
  /** What the client's answer to `method` becomes for this upstream. Default: it passes as it is. */
  readonly adapt?: (answer: Message, method: string, link: Link, live: Live) => Message
  /** Where several instances serve a session. */
  readonly shared?: {
    /** The key of ids, and what those of this instance carry. */
    readonly key: Buffer
    readonly instance: string
    /** One that this instance asked is over. */
    over(live: Live, label: string): void
    /** Whether one that another instance asked is known to be over. */
    isOver(label: string): boolean
  }
  /** Whether asks of this session are open here; said when that changes. */
  readonly expects?: (live: Live, some: boolean) => void
  /** Whether several upstreams ask this client, and may choose the same progress tokens. Default: no. */
  readonly several?: (live: Live) => boolean
}

/** Asks that one session may have open: an upstream that never stops asking costs no more. */
const maxOpen = 256

export class Asked {
  readonly #options: AskedOptions
  readonly #key: Buffer
  readonly #open = new Map<string, Ask>()
  readonly #sessions = new Map<Live, Set<Ask>>()
  readonly #tokens = new AskTokens()
  #count = 0

  constructor(options: AskedOptions) {
    this.#options = options
    this.#key = options.shared?.key ?? randomBytes(32)
  }

  /** Open asks in all. */
  get size(): number {
    return this.#open.size
  }

  /** The upstream's request under an id of ours; from now on its answer is awaited. Undefined when too many are open. */
  ask(request: Message, live: Live, link: Link, asker: Asker): Message | undefined {
    const open = this.#sessions.get(live) ?? new Set()
    if (open.size >= maxOpen) return undefined
    this.#count++
    const { shared, expects } = this.#options
    const count = this.#count.toString(36)
    const label = this.#label(live.record.id, shared === undefined ? count : `${count}-${shared.instance}`)
    const ask: Ask = {
      label,
      live,
      link,
      method: request.method!,
      upstreamId: request.id!,
      asker,
      timer: undefined
    }
    ask.timer = setTimeout(() => this.#expire(ask), this.#options.timeoutMs)
    this.#open.set(label, ask)
    this.#sessions.set(live, open.add(ask))
    if (open.size === 1) expects?.(live, true)
    asker.asked()
    const numbered = withId(request, `"${label}"`)
    return this.#options.several?.(live) === true ? this.#tokens.take(numbered, label, live, link) : numbered
  }

  /** Whether the ask with this label still waits, as far as this instance knows. */
  pending(label: string): boolean {
    return this.#open.has(label) || (this.#isOfAnother(label) && this.#options.shared?.isOver(label) !== true)
  }

  /** The instance that asked for this answer, when it is another one. */
  askedBy(response: Message, live: Live): string | undefined {
    const label = labelOf(response.id)
    const ofAnother = label !== undefined && this.#isOfAnother(label) && this.#isOurs(label, live.record.id)
    return ofAnother ? instanceOf(label) : undefined
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
    const adapted = this.#options.adapt?.(response, ask.method, ask.link, live) ?? response
    ask.link.send(withId(adapted, ask.upstreamId)).catch((error: unknown) => {
      facts.notice.publish({ level: 'warn', text: 'an answer of the client did not reach the backend', error })
    })
    return 'forwarded'
  }

  /** `notifications/progress` of a client that several upstreams ask: to the one that it is for, if any. */
  progressed(notice: Message, live: Live): void {
    const found = this.#tokens.find(notice, live)
    if (found === undefined) facts.drop.publish({ reason: 'unknown_token' })
    else found.link.send(found.notice).catch(() => {})
  }

  /** The upstream's `notifications/cancelled` for a request of its own: the client is told, by the id that it knows. */
  cancelled(notice: Message, live: Live, link: Link): void {
    const upstreamId = textParam(notice, 'requestId')
    if (upstreamId === undefined) return
    for (const ask of this.#of(live)) {
      if (ask.link !== link || !sameId(ask.upstreamId, upstreamId)) continue
      this.#close(ask)
      ask.asker.tell(withParam(notice, 'requestId', `"${ask.label}"`))
      return
    }
  }

  /** The call was given up: the client is told, and the upstream need not wait. */
  drop(asker: Asker, live: Live): void {
    for (const ask of this.#of(live)) if (ask.asker === asker) this.#giveUp(ask, 'the call is over', 'cancelled')
  }

  /** The link is over: the client is told that nobody waits for its answers. */
  lost(live: Live, link: Link): void {
    this.#tokens.forget(live, link)
    for (const ask of this.#of(live)) {
      if (ask.link !== link) continue
      this.#close(ask)
      ask.asker.tell(cancellation(ask, 'the server lost the conversation'))
    }
  }

  /** The session is over. */
  forget(live: Live): void {
    for (const ask of this.#of(live)) this.#close(ask)
    this.#tokens.forget(live)
  }

  close(): void {
    for (const ask of this.#open.values()) this.#close(ask)
  }

  #of(live: Live): Iterable<Ask> {
    return this.#sessions.get(live) ?? []
  }

  #close(ask: Ask): void {
    this.#open.delete(ask.label)
    this.#options.shared?.over(ask.live, ask.label)
    this.#tokens.close(ask.label)
    const open = this.#sessions.get(ask.live)
    open?.delete(ask)
    if (open?.size === 0) {
      this.#sessions.delete(ask.live)
      this.#options.expects?.(ask.live, false)
    }
    clearTimeout(ask.timer)
    ask.asker.answered()
  }

  #expire(ask: Ask): void {
    this.#giveUp(ask, 'the client did not answer in time', 'input_timeout')
  }

  #giveUp(ask: Ask, text: string, reason: string): void {
    this.#close(ask)
    // An upstream that is gone needs no answer.
    ask.link.send(makeError(ask.upstreamId, -32603, text, { reason })).catch(() => {})
    ask.asker.tell(cancellation(ask, text))
  }

  #label(session: SessionId, count: string): string {
    return `${count}.${createHmac('sha256', this.#key).update(`${session} ${count}`).digest('base64url').slice(0, 22)}`
  }

  #isOfAnother(label: string): boolean {
    const { shared } = this.#options
    return shared !== undefined && instanceOf(label) !== shared.instance
  }

  #isOurs(label: string, session: SessionId): boolean {
    const expected = Buffer.from(this.#label(session, label.slice(0, label.indexOf('.'))))
    const given = Buffer.from(label)
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
}

const cancellation = (ask: Ask, reason: string): Message =>
  makeNotification('notifications/cancelled', { requestId: ask.label, reason })

const instanceOf = (label: string): string => label.slice(label.indexOf('-') + 1, label.indexOf('.'))

function labelOf(id: string | undefined): string | undefined {
  if (id === undefined || id.charCodeAt(0) !== 0x22) return undefined
  return JSON.parse(id) as string
}
