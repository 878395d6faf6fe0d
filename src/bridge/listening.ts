/**
 * One `subscriptions/listen` for all who want to hear of an upstream (2026-07-28 basic/patterns/subscriptions; decisions: "The
 * listen stream there"). Its filter is the union of what they want: who wants more makes a second stream, and the first is
 * closed once that is acknowledged.
 */
import type { Exchange, Upstream } from '../backends/backend.ts'
import { Backoff } from '../backends/backoff.ts'
import { GatewayError } from '../errors.ts'
import { without } from '../protocol/edit.ts'
import { listKinds } from '../protocol/list-kinds.ts'
import { makeNotification, makeRequest } from '../protocol/make.ts'
import { type Message, stringParam, textOf, textParam } from '../protocol/message.ts'
import { subscriptionKey } from '../protocol/modern.ts'
import { bytes } from '../protocol/write.ts'
import { facts } from '../telemetry/events.ts'
import { type Filter, filterOf, holds, isEmpty } from './listen-filter.ts'

/** Who wants to hear. */
export interface Member {
  /** Lists whose changes it wants to hear of. */
  readonly lists: ReadonlySet<string>
  readonly uris: ReadonlySet<string>
  /** Must not throw. */
  tell(message: Message): void
}

/** How long (ms) an upstream may take to acknowledge. */
const patienceMs = 5_000
/** So long (ms) after one stream took the place of another may a message come that the first one gave already. */
const overlapMs = 50
/** Messages of that time that are kept. */
const maxLate = 100

interface Late {
  readonly text: string
  readonly at: number
}

interface Stream {
  readonly exchange: Exchange
  readonly asked: Filter
  /** What the upstream agreed to; undefined until it said so. */
  honoured: Filter | undefined
}

export class Listening {
  readonly #upstream: Upstream
  readonly #backend: string
  readonly #members = new Set<Member>()
  readonly #backoff = new Backoff()
  #stream: Stream | undefined
  #opening: Promise<void> | undefined
  /** A filter of which nothing was honoured: it is not asked for again. */
  #refused: Filter | undefined
  /**
   * What came while another stream is being opened, and what of it came of the stream before this one: texts, with their
   * times. Anything earlier that comes again is another change.
   */
  #late: Late[] = []
  #overlap: Late[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(upstream: Upstream, backend: string) {
    this.#upstream = upstream
    this.#backend = backend
  }

  /**
   * The member's wishes are new, or others than before. Resolves once the upstream agreed to what it agrees to; rejects with
   * a GatewayError when it did not say so in time.
   */
  async changed(member: Member): Promise<void> {
    this.#members.add(member)
    await this.#update()
  }

  leave(member: Member): void {
    if (this.#members.delete(member) && isEmpty(this.#wanted())) this.#stop()
  }

  /** Whether updates of a resource come. */
  honours(uri: string): boolean {
    return this.#stream?.honoured?.uris.has(uri) === true
  }

  #wanted(): Filter {
    return filterOf(this.#members)
  }

  /** One opening at a time: who comes meanwhile has the next. */
  async #update(): Promise<void> {
    for (;;) {
      const wanted = this.#wanted()
      if (isEmpty(wanted) || (this.#stream !== undefined && holds(this.#stream.asked, wanted))) return
      if (this.#refused !== undefined && holds(this.#refused, wanted)) return
      this.#opening ??= this.#open(wanted).finally(() => {
        this.#opening = undefined
      })
      await this.#opening
    }
  }

  async #open(asked: Filter): Promise<void> {
    clearTimeout(this.#timer)
    this.#late = []
    const request = makeRequest('0', 'subscriptions/listen', { notifications: asked.params() })
    const exchange = this.#upstream.exchange(request)
    const stream: Stream = { exchange, asked, honoured: undefined }
    let late = false
    const timer = setTimeout(() => {
      late = true
      exchange.cancel('took too long')
    }, patienceMs)
    try {
      stream.honoured = await acknowledged(exchange, this.#backend)
    } catch (error) {
      if (!late) throw error
      const text = `backend "${this.#backend}" did not acknowledge subscriptions/listen in time`
      throw new GatewayError('timeout', text, { backend: this.#backend })
    } finally {
      clearTimeout(timer)
    }
    if (isEmpty(this.#wanted())) {
      exchange.cancel()
      return
    }
    if (isEmpty(stream.honoured)) this.#refused = asked
    const before = this.#stream
    this.#stream = stream
    this.#overlap = before === undefined ? [] : this.#late
    this.#late = []
    before?.exchange.cancel()
    void this.#read(stream)
  }

  async #read(stream: Stream): Promise<void> {
    let reason: unknown
    try {
      for await (const message of stream.exchange) {
        if (this.#stream !== stream) return
        if (message.kind === 'notification') this.#tell(message)
      }
    } catch (error) {
      reason = error
    }
    if (this.#stream !== stream) return
    this.#stream = undefined
    // Nothing was honoured: to ask again would be answered alike.
    if (stream.honoured !== undefined && isEmpty(stream.honoured)) return
    if (isEmpty(this.#wanted())) return
    facts.notice.publish({ level: 'info', text: 'subscriptions/listen ended', backend: this.#backend, error: reason })
    this.#later(stream)
  }

  /** It dropped: listened to again after a while; then what may have been missed is told. */
  #later(lost: Stream): void {
    this.#backoff.failed()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#update().then(
        () => this.#missed(lost),
        () => this.#later(lost)
      )
    }, this.#backoff.remaining)
    this.#timer.unref()
  }

  #missed({ honoured }: Stream): void {
    if (this.#stream === undefined) return
    for (const list of honoured?.lists ?? []) this.#tell(makeNotification(listKinds[list]!.method))
  }

  #tell(message: Message): void {
    const bare = untagged(message)
    const uri = bare.method === 'notifications/resources/updated' ? (stringParam(bare, 'uri') ?? '') : undefined
    const list = Object.keys(listKinds).find(name => listKinds[name]!.method === bare.method)
    if (uri === undefined && list === undefined) {
      facts.drop.publish({ reason: 'unknown_subscription', backend: this.#backend })
      return
    }
    if (this.#isTwice(bare)) return
    for (const member of [...this.#members]) {
      const wants = uri === undefined ? member.lists.has(list!) : [...member.uris].some(one => uri.startsWith(one))
      if (wants) member.tell(bare)
    }
  }

  /** Whether the stream before this one gave the same message just now. */
  #isTwice(message: Message): boolean {
    const now = performance.now()
    const isRecent = ({ at }: Late): boolean => now - at < overlapMs
    const text = bytes(message).toString('latin1')
    this.#overlap = this.#overlap.filter(isRecent)
    const i = this.#overlap.findIndex(one => one.text === text)
    if (i !== -1) this.#overlap.splice(i, 1)
    else if (this.#opening !== undefined)
      this.#late = [...this.#late.filter(isRecent), { text, at: now }].slice(-maxLate)
    return i !== -1
  }

  #stop(): void {
    clearTimeout(this.#timer)
    const stream = this.#stream
    this.#stream = undefined
    stream?.exchange.cancel()
  }
}

/** What the upstream agreed to, as it says first of all; nothing where it has no such method. */
async function acknowledged(exchange: Exchange, backend: string): Promise<Filter> {
  const { value, done } = await exchange.next()
  if (done !== true && value.kind === 'response' && isUnknownMethod(value)) return filterOf([])
  if (done !== true && value.method === 'notifications/subscriptions/acknowledged') {
    return filterOf([read(textParam(value, 'notifications'))])
  }
  throw new GatewayError('backend_invalid', `backend "${backend}" did not acknowledge subscriptions/listen`, {
    backend
  })
}

function isUnknownMethod({ source, scanned }: Message): boolean {
  const error = JSON.parse(textOf(source, scanned.top, 'error') ?? 'null') as { code?: unknown } | null
  return error?.code === -32601
}

function read(text: string | undefined): Pick<Member, 'lists' | 'uris'> {
  const said = (text === undefined ? {} : (JSON.parse(text) ?? {})) as Record<string, unknown>
  const uris = said.resourceSubscriptions
  return {
    lists: new Set(Object.keys(listKinds).filter(name => said[listKinds[name]!.key] === true)),
    uris: new Set(Array.isArray(uris) ? uris.filter(uri => typeof uri === 'string') : [])
  }
}

const tag = new Set([subscriptionKey])
const metaKey = new Set(['_meta'])

/** The notification without the name of the subscription, which is the gateway's own. */
function untagged(message: Message): Message {
  const { params, meta } = message.scanned
  if (params === undefined || meta?.keys.includes(subscriptionKey) !== true) return message
  return meta.keys.length === 1
    ? without({ ...message, edits: [] }, params, metaKey)
    : without({ ...message, edits: [] }, meta, tag)
}
