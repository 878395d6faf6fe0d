/** The client's side of one call: what it saw on however many connections, and whether that is what was sent (R17, R24). */
import type { RawResponse } from '../helpers/raw-client.ts'
import type { Record } from './ledger.ts'

/** A request of the backend as the client saw it. */
export interface SeenAsk {
  readonly label: string
  readonly call: Call
  /** The answer was taken by the gateway. */
  answered: boolean
}

/** What a session's calls share: the asks that were seen, by their id. */
export type Asks = Map<string, SeenAsk>

interface SeenEvent {
  readonly id: string | undefined
  /** Number of a progress message. */
  readonly said: number | undefined
  readonly outcome: Outcome | undefined
}

type Outcome = 'answer' | 'refusal' | 'error'

export class Call {
  readonly record: Record
  readonly id: number
  readonly jsonOnly: boolean
  readonly #asks: Asks
  /** `lost`: given up before the client had an event id, so that nobody can come back. */
  phase: 'posting' | 'open' | 'cut' | 'lost' | 'done' = 'posting'
  #seen: SeenEvent[] = []
  #connection: RawResponse | undefined
  /** Connections that another one took the stream over from: the server ends them. */
  #older: RawResponse[] = []
  #taken = 0
  /** Asks that were answered before this connection was asked for: they may not come again. */
  #settledAsks: ReadonlySet<string> = new Set()
  paused = false
  cancel: 'no' | 'sent' | 'taken' = 'no'
  /** What the backend had sent when the cancel was taken: whether its response was on the way. */
  answeredBeforeCancel = false
  /** The backend crashed, or was away, while the call was on its way. */
  disturbed = false
  #json = false
  readonly abort = new AbortController()

  constructor(record: Record, id: number, jsonOnly: boolean, asks: Asks) {
    this.record = record
    this.id = id
    this.jsonOnly = jsonOnly
    this.#asks = asks
  }

  get outcome(): Outcome | undefined {
    return this.#seen.at(-1)?.outcome
  }

  get lastId(): string | undefined {
    return this.#seen.findLast(({ id }) => id !== undefined)?.id
  }

  /** Whether the server ended the connection. */
  get ended(): boolean {
    return this.#connection?.events.ended === true
  }

  /** Whether every connection that lost the stream to another one has ended. */
  get olderEnded(): boolean {
    return this.#older.every(({ events }) => events.ended)
  }

  /** Events that came and were not looked at yet. */
  get unread(): number {
    return (this.#connection?.events.all.length ?? 0) - this.#taken
  }

  /** The response of the POST. */
  answered(response: RawResponse): void {
    if (this.phase === 'lost') {
      response.destroy()
      return
    }
    if (response.json !== undefined) {
      this.#json = true
      this.#see(undefined, response.json)
      this.phase = 'done'
      return
    }
    if (response.status !== 200) throw new Error(`${this}: status ${response.status} ${response.text}`)
    this.#follow(response)
  }

  /** Another connection for the same stream. What the older one still brings is not looked at: the client asked for it again. */
  resumed(response: RawResponse): void {
    this.#follow(response)
  }

  /** Looks at what came, at most `count` events of it. */
  take(count = Number.POSITIVE_INFINITY): void {
    const connection = this.#connection
    if (connection === undefined || this.phase !== 'open') return
    const until = Math.min(connection.events.all.length, this.#taken + count)
    while (this.#taken < until) {
      const { id, message } = connection.events.all[this.#taken++]!
      this.#see(id, message)
    }
    if (this.outcome !== undefined && connection.events.ended) this.phase = 'done'
  }

  /** The client's connection is gone. */
  cut(): void {
    const { phase } = this
    if (phase === 'posting') {
      this.phase = 'lost'
      this.abort.abort()
    } else if (phase === 'open') {
      this.#connection?.destroy()
      this.#connection = undefined
      this.phase = this.outcome !== undefined ? 'done' : this.lastId === undefined ? 'lost' : 'cut'
    }
    this.paused = false
  }

  /** Forgets what came after one of the events; returns its id. */
  rollBack(to: (count: number) => number): string | undefined {
    const places = this.#seen.flatMap(({ id }, i) => (id === undefined ? [] : [i]))
    if (places.length === 0) return undefined
    const place = places[to(places.length)]!
    this.#seen = this.#seen.slice(0, place + 1)
    return this.lastId
  }

  /** Before a GET with `Last-Event-ID` is sent: the older connection is not looked at any more. */
  leave(): void {
    if (this.#connection !== undefined) {
      this.#connection.resume()
      this.#older.push(this.#connection)
    }
    this.#connection = undefined
    this.#settledAsks = new Set([...this.#asks.values()].filter(({ answered }) => answered).map(({ label }) => label))
    this.paused = false
  }

  pause(): void {
    this.#connection?.pause()
    this.paused = true
  }

  unpause(): void {
    this.#connection?.resume()
    this.paused = false
  }

  /** There is nothing to come back to: the stream is over. */
  over(): void {
    this.phase = 'done'
  }

  /** What is wrong with what the client saw, once the call is over. `alive`: its session did not end. */
  verdict(alive: boolean): string | undefined {
    const { record, outcome } = this
    if (record.starts > 1) return `${this} reached the backend ${record.starts} times`
    const numbers = this.#seen.flatMap(({ said }) => (said === undefined ? [] : [said]))
    const wrong = numbers.findIndex((number, i) => number !== i + 1)
    if (wrong !== -1) return `${this} saw ${numbers.slice(0, wrong + 1)}`
    if (numbers.length > record.said) return `${this} saw ${numbers.length} of ${record.said} messages`
    const own = outcome === 'answer' || outcome === 'refusal'
    if (own && !record.answered) return `${this} saw a response that was not sent`
    if (own && !this.#json && numbers.length < record.said) return `${this} saw ${numbers.length} of ${record.said}`
    if (own && (outcome === 'refusal') !== (record.script.end === 'refuse')) return `${this} saw an ${outcome}`
    if (outcome === 'error' && !this.disturbed) return `${this} saw an error although nothing happened`
    if (outcome !== undefined && this.cancel === 'taken' && !this.answeredBeforeCancel && !this.disturbed)
      return `${this} saw an ${outcome} after it was cancelled`
    const mayEndInSilence = this.cancel !== 'no' || !alive || this.phase === 'lost'
    if (outcome === undefined && !mayEndInSilence) return `${this} ended in nothing`
    return undefined
  }

  toString(): string {
    const { uid, starts, said, asks, answered, cancelled, over, script } = this.record
    const backend = `${starts} ${said}+${asks} ${script.end}${answered ? ' answered' : over ? ' over' : ''}${cancelled ? ' told' : ''}`
    const client = `${this.phase} ${this.#seen.length} ${this.outcome ?? '-'}${this.ended ? ' ended' : ''}${this.cancel === 'no' ? '' : ` cancel ${this.cancel}`}${this.disturbed ? ' disturbed' : ''}`
    return `call ${uid} (id ${this.id}; backend: ${backend}; client: ${client})`
  }

  #follow(response: RawResponse): void {
    this.#connection = response
    this.#taken = 0
    this.phase = 'open'
  }

  #see(id: string | undefined, message: any): void {
    if (this.outcome !== undefined)
      throw new Error(`${this}: after its ${this.outcome} came ${JSON.stringify(message)}`)
    if (message === undefined) return void this.#seen.push({ id, said: undefined, outcome: undefined })
    this.#seen.push({ id, ...this.#read(message) })
  }

  #read(message: any): Pick<SeenEvent, 'said' | 'outcome'> {
    const { uid } = this.record
    const { method, params } = message
    if (method === 'notifications/progress' && params.progressToken === this.id && owns(uid, params.message))
      return { said: params.progress, outcome: undefined }
    if (method === 'elicitation/create' && owns(uid, params.message)) return this.#asked(message.id)
    if (method === 'notifications/cancelled' && typeof params.requestId === 'string') return nothing
    if (method === undefined && message.id === this.id) {
      if (message.error?.data?.uid === uid) return { said: undefined, outcome: 'refusal' }
      if (/^backend_/.test(message.error?.data?.reason)) return { said: undefined, outcome: 'error' }
      if (message.result?.uid === uid) return this.#result(message.result)
    }
    throw new Error(`${this} got ${JSON.stringify(message).slice(0, 300)}`)
  }

  #asked(label: string): Pick<SeenEvent, 'said' | 'outcome'> {
    if (this.#settledAsks.has(label)) throw new Error(`${this}: an ask came again after it was answered`)
    if (!this.#asks.has(label)) this.#asks.set(label, { label, call: this, answered: false })
    return nothing
  }

  #result({ answers }: { answers: readonly any[] }): Pick<SeenEvent, 'said' | 'outcome'> {
    const expected = Array.from({ length: this.record.asks }, () => this.record.uid)
    const got = answers.map(answer => answer?.content?.uid)
    if (JSON.stringify(got) !== JSON.stringify(expected)) throw new Error(`${this}: its asks were answered ${got}`)
    return { said: undefined, outcome: 'answer' }
  }
}

const nothing = { said: undefined, outcome: undefined }

const owns = (uid: string, text: unknown): boolean => typeof text === 'string' && text.startsWith(`${uid} `)
