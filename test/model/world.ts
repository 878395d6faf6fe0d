/** A gateway, its backends and its clients, as one run of the model has them. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { MemorySessionStore } from '../../src/sessions/memory.ts'
import { type RunningGateway, startGateway } from '../helpers/gateway.ts'
import type { Random } from '../helpers/random.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { until } from '../helpers/until.ts'
import { type Asks, Call } from './call.ts'
import { Channel } from './channel.ts'
import { type Ledger, Record, type Script } from './ledger.ts'
import { type Kind, startUpstreams, type Upstream } from './upstreams.ts'

export class Session {
  readonly client: RawClient
  readonly upstream: Upstream
  readonly calls: Call[] = []
  readonly asks: Asks = new Map()
  readonly channel = new Channel()
  alive = true

  constructor(client: RawClient, upstream: Upstream) {
    this.client = client
    this.upstream = upstream
  }

  get route(): string {
    return `/${this.upstream.kind}`
  }

  toString(): string {
    return `${this.route} ${this.client.session?.slice(0, 4)} ${this.client.version}`
  }
}

/** What the admin listener tells. */
interface Status {
  readonly sessions: number
  readonly streams: number
  readonly backends: readonly { readonly inflight: number }[]
}

/** What a client may say that declares nothing else. */
const versions = ['2025-03-26', '2025-06-18', '2025-11-25', '2025-11-25']

export class World {
  readonly random: Random
  readonly gateway: RunningGateway
  readonly store: MemorySessionStore
  readonly upstreams: ReadonlyMap<Kind, Upstream>
  readonly ledger: Ledger
  sessions: Session[] = []
  /** What background work found. */
  readonly faults: string[] = []
  /** The last commands, for the report. */
  readonly trace: string[] = []
  #uid = 0
  #broadcasts = 0

  private constructor(
    random: Random,
    gateway: RunningGateway,
    store: MemorySessionStore,
    upstreams: ReadonlyMap<Kind, Upstream>,
    ledger: Ledger
  ) {
    this.random = random
    this.gateway = gateway
    this.store = store
    this.upstreams = upstreams
    this.ledger = ledger
  }

  static async start(t: Test, random: Random): Promise<World> {
    const ledger: Ledger = new Map()
    const upstreams = await startUpstreams(t, ledger)
    const store = new MemorySessionStore()
    t.teardown(() => store.close())
    const kinds = [...upstreams.keys()]
    const gateway = await startGateway(
      t,
      {
        // A call that is refused because others failed has no place in the ledger.
        backends: Object.fromEntries([...upstreams].map(([kind, { config }]) => [kind, { ...config, breaker: 'off' }])),
        routes: Object.fromEntries(kinds.map(kind => [`/${kind}`, { backends: [kind] }])),
        streams: { sseAfter: '40ms', behind: 32, highWater: '16KiB' }
      },
      import.meta.dirname,
      { store }
    )
    return new World(random, gateway, store, upstreams, ledger)
  }

  get live(): Session[] {
    return this.sessions.filter(({ alive }) => alive)
  }

  /** Calls that are not over for their clients, of sessions that live. */
  get running(): { readonly session: Session; readonly call: Call }[] {
    return this.live.flatMap(session =>
      session.calls.filter(({ phase }) => phase !== 'done' && phase !== 'lost').map(call => ({ session, call }))
    )
  }

  /** Calls that are not over, for the report. */
  describe(): string[] {
    return this.running.map(({ session, call }) => `${session} ${call}`)
  }

  fault(what: unknown): void {
    this.faults.push(what instanceof Error ? what.message : String(what))
  }

  async open(kind: Kind): Promise<Session> {
    const upstream = this.upstreams.get(kind)!
    const client = await RawClient.open(this.gateway.gateway.url(`/${kind}`), {
      version: this.random.pick(versions),
      capabilities: { elicitation: {} }
    })
    const session = new Session(client, upstream)
    this.sessions.push(session)
    return session
  }

  call(session: Session, script: Script, jsonOnly: boolean): Call {
    const record = new Record(`u${++this.#uid}`, script)
    this.ledger.set(record.uid, record)
    const call = new Call(record, session.calls.length + 1, jsonOnly, session.asks)
    call.disturbed = session.upstream.down || session.upstream.shaky
    session.calls.push(call)
    const message = {
      id: call.id,
      method: 'tools/call',
      params: { name: 'script', arguments: { uid: record.uid }, _meta: { progressToken: call.id } }
    }
    session.client.post(message, jsonOnly ? { accept: 'application/json' } : {}, call.abort.signal).then(
      response => {
        try {
          // Its session may have ended before it arrived.
          if (response.status === 404 && !session.alive) call.over()
          else call.answered(response)
        } catch (error) {
          this.fault(error)
        }
      },
      error => {
        if (call.phase !== 'lost') this.fault(error)
      }
    )
    return call
  }

  /** Every call on the way to a backend may end in its error. */
  disturb(upstream: Upstream): void {
    for (const session of this.sessions) {
      if (session.upstream !== upstream) continue
      for (const call of session.calls) if (call.phase !== 'done') call.disturbed = true
    }
  }

  async broadcast(route: string, pad = 0): Promise<number> {
    const n = ++this.#broadcasts
    for (const session of this.live) if (session.route === route) session.channel.sent.push(n)
    await this.gateway.gateway.broadcast(route, { method: 'notifications/x', params: { n, pad: 'x'.repeat(pad) } })
    return n
  }

  /** GET for the rest of a call's stream. */
  async resume(session: Session, call: Call, lastId: string): Promise<void> {
    call.leave()
    const response = await session.client.get(lastId)
    if (response.status === 200) {
      call.resumed(response)
      await until('the connection that was taken over ends', () => call.olderEnded)
      return
    }
    const over = call.outcome !== undefined || call.cancel !== 'no'
    if (response.status === 405 && over) return call.over()
    throw new Error(`${call}: resumed with ${lastId}: ${response.status} ${response.text}`)
  }

  async cancel(session: Session, call: Call): Promise<void> {
    if (call.cancel === 'no') call.cancel = 'sent'
    const { status } = await session.client.post({
      method: 'notifications/cancelled',
      params: { requestId: call.id, reason: 'model' }
    })
    if (status !== 202) throw new Error(`${call}: cancel was answered with ${status}`)
    if (call.cancel === 'taken') return
    call.cancel = 'taken'
    call.answeredBeforeCancel = call.record.answered
  }

  async answer(session: Session, label: string): Promise<void> {
    const ask = session.asks.get(label)!
    const content = { uid: ask.call.record.uid }
    const { status, text } = await session.client.post({ id: label, result: { action: 'accept', content } })
    if (status !== 202) throw new Error(`${ask.call}: its answer was taken with ${status} ${text}`)
    ask.answered = true
  }

  /** The session ended by what was just done. */
  ended(session: Session): void {
    session.alive = false
  }

  /** Everything that is still on its way arrives; then what each client saw is compared with what was sent. */
  async settle(): Promise<void> {
    for (const upstream of this.upstreams.values()) upstream.down = false
    await until('no request waits for its answer', () =>
      this.sessions.every(({ alive, calls }) => alive || calls.every(({ phase }) => phase !== 'posting'))
    )
    for (const session of this.sessions) {
      session.channel.unpause()
      for (const call of session.calls) call.unpause()
    }
    await until('every call is over', () => this.#settleCalls(), 20_000)
    await this.#settleChannels()
    for (const session of this.sessions) {
      for (const call of session.calls) {
        call.take()
        this.#judge(call.verdict(session.alive), session)
      }
    }
    await this.#cancelRest()
    await until('nothing is in flight', async () => (await this.#status()).backends.every(one => one.inflight === 0))
    for (const session of this.live) {
      const { status } = await session.client.delete()
      if (status !== 204) this.fault(`DELETE: ${status}`)
    }
    await until('every connection of a session that is over has ended', () =>
      this.sessions.every(
        ({ channel, calls }) => channel.ended && calls.every(({ ended, phase }) => ended || phase !== 'open')
      )
    )
    await until('the gateway has nothing left', async () => {
      const { sessions, streams } = await this.#status()
      return sessions === 0 && streams === 0
    })
    for (const { channel, calls } of this.sessions) {
      channel.close()
      for (const call of calls) call.cut()
    }
    this.sessions = []
    this.ledger.clear()
    for (const upstream of this.upstreams.values()) upstream.forget()
  }

  /** One round for every call that is not over; true when there is none left. */
  async #settleCalls(): Promise<boolean> {
    const { running } = this
    for (const { session, call } of running) {
      call.take()
      if (call.phase === 'cut' || (call.phase === 'open' && call.ended)) {
        const { lastId } = call
        if (lastId === undefined) call.cut()
        else await this.resume(session, call, lastId)
      }
      if (call.record.script.end === 'never' && call.record.over && call.cancel === 'no')
        await this.cancel(session, call)
    }
    for (const session of this.live) {
      for (const { label, answered } of session.asks.values()) if (!answered) await this.answer(session, label)
    }
    return running.length === 0
  }

  async #settleChannels(): Promise<void> {
    for (const session of this.live) {
      const { channel, client } = session
      if (channel.open) continue
      const lastId = channel.places.at(-1)?.id
      const response = await client.get(lastId)
      if (response.status !== 200) throw new Error(`the channel was not opened: ${response.status} ${response.text}`)
      channel.opened(response, lastId === undefined)
    }
    const last = new Map<string, number>()
    for (const route of new Set(this.live.map(({ route }) => route))) last.set(route, await this.broadcast(route))
    for (const session of this.live) {
      const n = last.get(session.route)!
      await until(`the channel of ${session.route} brings the last broadcast`, () => session.channel.has(n))
    }
    // What older connections were given is in their sockets by now.
    await sleep(2)
    for (const session of this.sessions) this.#judge(session.channel.verdict(session.alive), session)
  }

  /** Calls that clients gave up before they had an answer. */
  async #cancelRest(): Promise<void> {
    for (const session of this.live) {
      for (const call of session.calls) {
        if (call.phase === 'lost' && !call.record.over) await this.cancel(session, call)
        if (call.phase === 'lost' && call.record.script.end === 'never') await this.cancel(session, call)
      }
    }
  }

  #judge(verdict: string | undefined, session: Session): void {
    if (verdict !== undefined) this.fault(`${session}: ${verdict}`)
  }

  async #status(): Promise<Status> {
    const response = await fetch(new URL('/readyz?verbose', this.gateway.adminUrl))
    return (await response.json()) as Status
  }
}
