/** One gateway, three backends on one route and many clients, and the truth that they are compared with. */
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { configOf, type RunningGateway, startGateway } from '../../helpers/gateway.ts'
import type { Random } from '../../helpers/random.ts'
import { RawClient } from '../../helpers/raw-client.ts'
import { wholeList } from '../../helpers/several.ts'
import { until } from '../../helpers/until.ts'
import { Call, Member, type Target } from './member.ts'
import { type BackendName, backendNames, guest, Party, Record, type Script } from './party.ts'

export const mostMembers = 20

/** How long the gateway may take to be as everything else is. */
const settlesWithin = 20_000

/** What a reload changes. */
export interface Layout {
  /** Backends on the route, in order. */
  readonly route: readonly BackendName[]
  /** Counts how often a backend became another one. */
  readonly identity: Readonly<{ [name in BackendName]?: number }>
  /** Seconds; a bound that nothing here reaches. */
  readonly timeout: number
}

const firstLayout: Layout = { route: backendNames, identity: {}, timeout: 600 }

const fileOf = (party: Party, { route, identity, timeout }: Layout): { [key: string]: unknown } => ({
  backends: Object.fromEntries(
    route.map(name => {
      const { kind, url } = party.catalog(name).config
      const breaker = { pause: '20ms', maxPause: '200ms' }
      return [name, { kind, url: `${url}&identity=${identity[name] ?? 0}`, breaker, timeout: `${timeout}s` }]
    })
  ),
  routes: { '/mcp': { backends: route } },
  streams: { sseAfter: '30ms' }
})

/** On a machine that is busy elsewhere the gateway takes no new sessions for a while. */
async function patiently<T>(open: () => Promise<T>): Promise<T> {
  for (let left = 40; ; left--) {
    try {
      return await open()
    } catch (error) {
      if (left === 0 || !(error as Error).message.includes('"overloaded"')) throw error
      await sleep(500)
    }
  }
}

export class World {
  readonly random: Random
  readonly gateway: RunningGateway
  readonly party: Party
  members: Member[] = []
  readonly faults: string[] = []
  readonly trace: string[] = []
  layout = firstLayout
  /** Sessions of backends, and the client that each is of. */
  readonly #owners = new Map<string, Member>()
  readonly #agent = new http.Agent({ keepAlive: true })
  #uid = 0
  #updates = 0
  #tags = 0
  /** Something happened in this round that may change a list. */
  listsMoved = false

  private constructor(random: Random, gateway: RunningGateway, party: Party) {
    this.random = random
    this.gateway = gateway
    this.party = party
  }

  static async start(t: Test, random: Random): Promise<World> {
    const party = await Party.start(t)
    const gateway = await startGateway(t, fileOf(party, firstLayout))
    const world = new World(random, gateway, party)
    t.teardown(() => world.#agent.destroy())
    return world
  }

  /** Another config, while it runs. */
  async reload(layout: Layout): Promise<void> {
    this.listsMoved = true
    await this.gateway.gateway.reload(configOf(fileOf(this.party, layout)))
    this.layout = layout
  }

  /** A config that cannot be is refused, and nothing changes. */
  async reloadBadly(): Promise<void> {
    const bad = {
      ...fileOf(this.party, this.layout),
      backends: { broken: { kind: 'module', path: '/nowhere/at/all' } }
    }
    const config = configOf({ ...bad, routes: { '/mcp': { backends: ['broken'] } } })
    const refused = await this.gateway.gateway.reload(config).then(
      () => false,
      () => true
    )
    if (!refused) throw new Error('a config that cannot be was taken')
  }

  get live(): Member[] {
    return this.members.filter(({ alive }) => alive)
  }

  get running(): { readonly member: Member; readonly call: Call }[] {
    return this.live.flatMap(member => member.running.map(call => ({ member, call })))
  }

  describe(): string[] {
    return this.running.map(({ member, call }) => `${member} ${call}`)
  }

  readonly fault = (what: string): void => {
    this.faults.push(what)
  }

  async open(): Promise<Member> {
    const version = this.random.below(4) === 0 ? '2025-03-26' : '2025-11-25'
    const capabilities = version === '2025-11-25' ? { elicitation: {} } : {}
    const client = await patiently(() => RawClient.open(this.gateway.url, { version, capabilities }))
    client.agent = this.#agent
    const member = new Member(this.members.length + 1, client, this.fault)
    const channel = await client.get()
    if (channel.status !== 200) throw new Error(`GET: ${channel.status} ${channel.text}`)
    member.channel = channel
    this.members.push(member)
    return member
  }

  /** Names that a call may use, and whose they are. */
  target(): Target {
    const { random, party, layout } = this
    const backend = random.pick(layout.route)
    const all = party.catalog(backend).lists.tools.map(({ name }) => String(name))
    const tool = random.pick(all)
    const own = tool === `only-${backend}` && backend !== guest
    const flaps = !own && tool !== 'same'
    switch (random.below(6)) {
      case 0:
        return { backend: undefined, tool: 'nobody', advertised: 'nobody', mayBeUnknown: true }
      case 1:
        // Of three backends: nobody's.
        return { backend: undefined, tool: 'same', advertised: 'same', mayBeUnknown: true }
      case 2:
        return { backend: own ? backend : undefined, tool, advertised: tool, mayBeUnknown: !own }
      default:
        return { backend, tool, advertised: `${backend}_${tool}`, mayBeUnknown: flaps || backend === guest }
    }
  }

  call(member: Member, count: number, script: (target: Target) => Script): Call[] {
    const calls = Array.from({ length: count }, () => {
      const target = this.target()
      const record = new Record(`u${++this.#uid}`, script(target))
      this.party.ledger.set(record.uid, record)
      const call = new Call(member.nextId(), record, target)
      call.disturbed = backendNames.some(name => !this.isUp(name) || this.shaky.has(name))
      return call
    })
    void member.send(calls)
    return calls
  }

  /** Backends that the gateway may still take for unavailable. */
  readonly shaky = new Set<BackendName>()

  /** Backends whose port nobody listens on. */
  readonly away = new Set<BackendName>()

  isUp(name: BackendName): boolean {
    return !this.away.has(name) && this.party.catalog(name).state === 'up'
  }

  async comeBack(name: BackendName): Promise<void> {
    const catalog = this.party.catalog(name)
    catalog.state = 'up'
    if (this.away.delete(name)) await catalog.comeBack()
  }

  disturb(name: BackendName): void {
    this.shaky.add(name)
    for (const member of this.members) {
      for (const call of member.running) {
        if (call.target.backend === undefined || call.target.backend === name) call.disturbed = true
      }
    }
  }

  async cancel(member: Member, call: Call): Promise<void> {
    if (call.cancel === 'no') call.cancel = 'sent'
    const { status } = await member.client.post({ method: 'notifications/cancelled', params: { requestId: call.id } })
    if (status !== 202) throw new Error(`${member}: ${call}: its cancel was answered with ${status}`)
    call.cancelledEarly = call.record.starts === 0
    if (call.cancel === 'taken') return
    call.cancel = 'taken'
    call.answeredBeforeCancel = call.record.answered || call.outcome !== undefined
  }

  async answer(member: Member): Promise<void> {
    const ask = member.asks.splice(this.random.below(member.asks.length), 1)[0]!
    const { status } = await member.client.post({ id: ask.id, result: { action: 'accept', content: { uid: ask.uid } } })
    if (status !== 202) throw new Error(`${member}: the answer for ${ask.uid} was taken with ${status}`)
  }

  update(name: BackendName, uri: string): number {
    const n = ++this.#updates
    const { subscriptions } = this.party.catalog(name)
    for (const [session, uris] of subscriptions) {
      if (uris.has(uri))
        this.party
          .catalog(name)
          .tellOne(session, 'notifications/resources/updated', { uri, n, upstream: `${name}/${session}` })
    }
    return n
  }

  /** Says to every session of a backend which one it is. */
  tag(name: BackendName): number {
    const tag = ++this.#tags
    const catalog = this.party.catalog(name)
    for (const session of catalog.channels.keys()) {
      const params = { level: 'error', data: tag, upstream: `${name}/${session}` }
      catalog.tellOne(session, 'notifications/message', params)
    }
    return tag
  }

  /** Whatever a backend said outside of calls is there: it speaks to each client, and comes last. */
  async #settleTags(): Promise<void> {
    for (const name of backendNames) {
      const { channels } = this.party.catalog(name)
      const listens = ({ upstreams }: Member): boolean =>
        [...upstreams].some(upstream => channels.has(upstream.slice(name.length + 1)))
      // As many, for what took the place of another session lets go of that.
      await until(
        `every client listens to ${name}, once`,
        () => channels.size === this.live.length && this.live.every(listens),
        10_000
      )
      const tag = this.tag(name)
      for (const member of this.live) {
        const tagged = (): any[] => member.heard.filter(({ params }) => params?.data === tag)
        await until(`${member} hears from ${name}`, () => tagged().length > 0)
        if (tagged().length > 1) this.fault(`${member} heard twice from ${name}`)
      }
    }
  }

  async delete(member: Member): Promise<void> {
    member.alive = false
    const { status } = await member.client.delete()
    if (status !== 204) throw new Error(`DELETE: ${status}`)
    await until('its streams end', () => member.channel!.events.ended && member.running.length === 0)
    const late = await member.client.post({ id: 'late', method: 'tools/list' })
    if (late.status !== 404) throw new Error(`a session that is over answers ${late.status}`)
  }

  /** Everything arrives; then what each client saw is compared with what was sent. */
  async settle(): Promise<void> {
    for (const name of backendNames) await this.comeBack(name)
    await until('every call is over', () => this.#endCalls(), settlesWithin)
    for (const member of this.members) {
      for (const call of member.calls) this.#judge(member, call)
      member.calls.length = 0
      member.asks.length = 0
    }
    await Promise.all(this.live.map(member => this.#reach(member)))
    await this.#settleLists()
    await this.#settleTags()
    await this.#settleUpdates()
    this.#checkChannels()
    await until('nothing is in flight', async () => {
      const response = await fetch(new URL('/readyz?verbose', this.gateway.adminUrl))
      const { backends } = (await response.json()) as { backends: { inflight: number }[] }
      return backends.every(({ inflight }) => inflight === 0)
    })
    this.members = this.live
    for (const member of this.members) {
      member.settledAt = member.heard.length
      member.everSubscribed.clear()
      for (const uri of member.subscribed) member.everSubscribed.add(uri)
    }
    this.party.ledger.clear()
    for (const name of [...backendNames, guest] as const) this.party.catalog(name).server.forget()
    this.shaky.clear()
    this.listsMoved = false
  }

  async #endCalls(): Promise<boolean> {
    const { running } = this
    for (const { member, call } of running) {
      const goesOn = call.cancel === 'no' || call.cancelledEarly
      if (call.record.script.end === 'never' && call.record.over && goesOn) await this.cancel(member, call)
    }
    for (const member of this.live) while (member.asks.length > 0) await this.answer(member)
    return running.length === 0
  }

  #judge(member: Member, call: Call): void {
    const verdict = call.verdict(member.alive)
    if (verdict !== undefined) this.fault(`${member}: ${verdict}`)
    const { upstream } = call.record
    if (upstream !== undefined) this.#own(upstream, member)
  }

  /** A session of a backend belongs to one client. */
  #own(upstream: string, member: Member): void {
    const owner = this.#owners.get(upstream)
    if (owner === undefined) {
      this.#owners.set(upstream, member)
      member.upstreams.add(upstream)
    } else if (owner !== member) this.fault(`${member} was given what is of ${owner}: ${upstream}`)
  }

  /** Every backend is to be had again, by every client. */
  async #reach(member: Member): Promise<void> {
    for (const name of backendNames) {
      await until(
        `${member} reaches ${name}`,
        async () => {
          const target = { backend: name, tool: `only-${name}`, advertised: `only-${name}`, mayBeUnknown: false }
          const record = new Record(`u${++this.#uid}`, { says: 0, asks: 0, delay: 0, end: 'answer' })
          this.party.ledger.set(record.uid, record)
          const call = new Call(member.nextId(), record, target)
          call.disturbed = this.shaky.has(name)
          await member.send([call])
          this.#judge(member, call)
          return call.outcome === 'result' || this.faults.length > 0
        },
        settlesWithin
      )
    }
  }

  /** The list of every client is what the backends have; it was told of it when it is another one than before. */
  async #settleLists(): Promise<void> {
    const expected = JSON.stringify(this.party.expectedNames(this.layout.route))
    for (const member of this.live) {
      let last = ''
      try {
        await until(
          '',
          async () => {
            last = JSON.stringify((await wholeList(member.client, 'tools/list')).map(({ name }) => name))
            return last === expected
          },
          settlesWithin
        )
      } catch {
        throw new Error(`${member} is listed ${last}, not ${expected}`)
      }
      const changes = (): number =>
        member.heard.slice(member.settledAt).filter(({ method }) => method === 'notifications/tools/list_changed')
          .length
      if (member.settledList !== undefined && member.settledList !== expected) {
        await until(`${member} is told of ${expected} after ${member.settledList}`, () => changes() > 0)
      } else if (member.settledList !== undefined && !this.listsMoved && changes() > 0) {
        this.fault(`${member} was told ${changes()} times of a change of lists that stayed the same`)
      }
      member.settledList = expected
    }
  }

  /** Each subscriber, and nobody else, hears of an update, once. */
  async #settleUpdates(): Promise<void> {
    const uris = new Set(this.live.flatMap(({ subscribed }) => [...subscribed]))
    for (const uri of uris) {
      const name = uri[0] as BackendName
      const subscribers = this.live.filter(({ subscribed }) => subscribed.has(uri))
      const { subscriptions, channels } = this.party.catalog(name)
      // A session that was given back while connections broke stays with the backend: nobody listens there any more.
      const holders = (): number =>
        [...subscriptions].filter(([session, uris]) => uris.has(uri) && channels.has(session)).length
      try {
        await until('', () => holders() === subscribers.length)
      } catch {
        const sessions = this.party.catalog(name).upstream.sessions.size
        throw new Error(
          `${name} has ${holders()} subscriptions to ${uri} in ${sessions} sessions, not those of ${subscribers}`
        )
      }
      const n = this.update(name, uri)
      const told = ({ heard }: Member): number => heard.filter(({ params }) => params?.n === n).length
      await until(`${subscribers} are told of ${uri}`, () => subscribers.every(member => told(member) > 0))
      for (const member of this.live) {
        if (told(member) > (subscribers.includes(member) ? 1 : 0))
          this.fault(`${member} was told of ${uri} twice, or for nothing`)
      }
    }
  }

  #checkChannels(): void {
    for (const member of this.members) {
      for (const { method, params } of member.heard.slice(member.settledAt)) {
        if (params?.upstream !== undefined) this.#own(params.upstream, member)
        if (method === 'notifications/resources/updated' && !member.everSubscribed.has(params.uri))
          this.fault(`${member} was told of ${params.uri}, which it never subscribed to`)
        if (method === 'notifications/progress' || method === 'elicitation/create')
          this.fault(`the channel of ${member} got ${JSON.stringify({ method, params })}`)
      }
    }
  }
}
