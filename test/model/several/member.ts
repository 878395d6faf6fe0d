/** One client of the model: its calls, its channel, and what it must not have seen. */
import type { RawClient, RawResponse } from '../../helpers/raw-client.ts'
import type { BackendName, Record } from './party.ts'

export interface Target {
  /** The backend that the name belongs to; undefined: it is nobody's, or may be. */
  readonly backend: BackendName | undefined
  /** Its own name there. */
  readonly tool: string
  readonly advertised: string
  /** Whether the name may be unknown by now. */
  readonly mayBeUnknown: boolean
}

export class Call {
  readonly id: number
  readonly record: Record
  readonly target: Target
  seen = 0
  /** How the client's side of it ended. */
  outcome: 'result' | 'refusal' | 'error' | 'silence' | undefined
  error: any
  cancel: 'no' | 'sent' | 'taken' = 'no'
  answeredBeforeCancel = false
  /** The cancel was taken before a backend had the call: on its own connection it may have come before the call, for nothing. */
  cancelledEarly = false
  /** A backend crashed or was away meanwhile, or the config changed. */
  disturbed = false

  constructor(id: number, record: Record, target: Target) {
    this.id = id
    this.record = record
    this.target = target
  }

  /** What is wrong with how it ended. */
  verdict(alive: boolean): string | undefined {
    const { record, target, outcome, disturbed } = this
    if (record.starts > 1) return `${this} reached backends ${record.starts} times`
    if (record.wrongAnswer !== undefined) return `${this} was answered with ${JSON.stringify(record.wrongAnswer)}`
    if (record.reached !== undefined && target.backend !== undefined && record.reached !== target.backend)
      return `${this} reached ${record.reached}`
    if (record.reached !== undefined && record.tool !== target.tool) return `${this} was ${record.tool} to the backend`
    if ((outcome === 'result' || outcome === 'refusal') && this.seen !== record.said)
      return `${this} saw ${this.seen} of ${record.said} messages`
    if (outcome === 'error') {
      const unknown = this.error?.code === -32602
      if (!disturbed && !(unknown && target.mayBeUnknown)) return `${this} ended in ${JSON.stringify(this.error)}`
    }
    if (outcome === 'silence' && this.cancel === 'no' && alive) return `${this} ended in nothing`
    const inVain = this.cancelledEarly && record.starts > 0
    if (outcome !== 'silence' && this.cancel === 'taken' && !this.answeredBeforeCancel && !inVain && !disturbed)
      if (outcome !== 'error') return `${this} had a ${outcome} after it was cancelled`
    return undefined
  }

  toString(): string {
    const { uid, reached, starts, said, answered, cancelled, over, script } = this.record
    return (
      `call ${uid} of ${this.target.advertised} (id ${this.id}; ${script.end}; backend ${reached ?? '-'}: ${starts} ${said}` +
      `${answered ? ' answered' : ''}${cancelled ? ' cancelled' : ''}${over ? ' over' : ''}; client: ${this.seen} ${this.outcome ?? '-'}` +
      `${this.cancel === 'no' ? '' : ` cancel ${this.cancel}`}${this.disturbed ? ' disturbed' : ''})`
    )
  }
}

/** Milliseconds without a message, for calls that nobody ends before their round does. */
const longest = 300_000

interface Ask {
  readonly id: unknown
  readonly uid: string
}

export class Member {
  readonly client: RawClient
  readonly number: number
  readonly calls: Call[] = []
  readonly asks: Ask[] = []
  /** Every message of the channel. */
  channel: RawResponse | undefined
  /** Sessions of backends that this client is known to be. */
  readonly upstreams = new Set<string>()
  /** URIs that it is subscribed to, and all that it ever was in this round. */
  readonly subscribed = new Set<string>()
  readonly everSubscribed = new Set<string>()
  alive = true
  /** Messages of the channel before the last time when everything was settled. */
  settledAt = 0
  /** The list then. */
  settledList: string | undefined
  #id = 0
  readonly #fault: (what: string) => void

  constructor(number: number, client: RawClient, fault: (what: string) => void) {
    this.number = number
    this.client = client
    this.#fault = fault
  }

  nextId(): number {
    return ++this.#id
  }

  get batches(): boolean {
    return this.client.version === '2025-03-26'
  }

  get running(): Call[] {
    return this.calls.filter(({ outcome }) => outcome === undefined)
  }

  get heard(): any[] {
    return this.channel?.events.messages ?? []
  }

  toString(): string {
    return `client ${this.number}`
  }

  /** One POST with one call, or a batch of them; all of them are over when it resolves. */
  async send(calls: readonly Call[]): Promise<void> {
    this.calls.push(...calls)
    const messages = calls.map(({ id, record, target }) => ({
      id,
      method: 'tools/call',
      params: { name: target.advertised, arguments: { uid: record.uid }, _meta: { progressToken: id } }
    }))
    try {
      const response = await this.client.post(messages.length === 1 ? messages[0]! : messages)
      if (response.status === 404 && !this.alive) return
      if (response.status !== 200) throw new Error(`status ${response.status} ${response.text}`)
      if (response.json !== undefined) {
        for (const message of [response.json].flat()) this.#take(message, calls)
        return
      }
      let taken = 0
      while (!(response.events.ended && taken === response.events.messages.length)) {
        await response.events.until(({ messages, ended }) => ended || messages.length > taken, longest)
        const { messages } = response.events
        while (taken < messages.length) this.#take(messages[taken++], calls)
      }
    } catch (error) {
      if (this.alive) this.#fault(`${this}: ${calls.join(', ')}: ${(error as Error).message}`)
    } finally {
      for (const call of calls) call.outcome ??= 'silence'
    }
  }

  #take(message: any, calls: readonly Call[]): void {
    const { method, params, id } = message
    if (method === 'notifications/progress') {
      const call = calls.find(({ id }) => id === params.progressToken)
      if (call?.record.uid === params.message && call?.outcome === undefined && params.progress === ++call!.seen) return
    } else if (method === 'elicitation/create') {
      if (calls.some(({ record }) => record.uid === params.message)) {
        this.asks.push({ id, uid: params.message })
        return
      }
    } else if (method === 'notifications/cancelled') {
      const at = this.asks.findIndex(ask => ask.id === params.requestId)
      if (at !== -1) this.asks.splice(at, 1)
      return
    } else if (method === undefined) {
      const call = calls.find(call => call.id === id && call.outcome === undefined)
      if (call !== undefined && this.#ends(call, message)) return
    }
    this.#fault(`${this}: on the stream of ${calls.join(', ')} came ${JSON.stringify(message)}`)
  }

  /** False: the response is another call's. */
  #ends(call: Call, { result, error }: any): boolean {
    const { record } = call
    const told = result ?? error?.data
    if (told?.uid !== undefined) {
      if (told.uid !== record.uid || told.from !== record.reached || told.tool !== record.tool) return false
      call.outcome = result === undefined ? 'refusal' : 'result'
      return (call.outcome === 'refusal') === (record.script.end === 'refuse')
    }
    if (error === undefined) return false
    call.outcome = 'error'
    call.error = error
    return true
  }
}
