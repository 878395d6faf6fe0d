/** The backends of one route that play what calls tell them to, use the same ids and tokens, and keep what they did. */
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Catalog } from '../../helpers/catalog.ts'
import type { Turn } from '../../helpers/scripted.ts'

/** Those that are on the route all the time. */
export const backendNames = ['a', 'b', 'c'] as const
/** Comes and goes by the config. */
export const guest = 'd'
export type BackendName = (typeof backendNames)[number] | typeof guest

export interface Script {
  /** Progress messages. */
  readonly says: number
  /** Requests to the client. */
  readonly asks: number
  /** Milliseconds before each step. */
  readonly delay: number
  readonly end: 'answer' | 'refuse' | 'never'
}

/** One call, as the backends had it. */
export class Record {
  readonly uid: string
  readonly script: Script
  /** How often it reached a backend, and which one, by the tool's own name. */
  starts = 0
  reached: BackendName | undefined
  tool: string | undefined
  /** The session of the backend that it came in. */
  upstream: string | undefined
  said = 0
  answered = false
  cancelled = false
  over = false
  /** An answer of the client that was meant for another call. */
  wrongAnswer: unknown

  constructor(uid: string, script: Script) {
    this.uid = uid
    this.script = script
  }
}

export class Party {
  readonly ledger = new Map<string, Record>()
  readonly #catalogs: ReadonlyMap<BackendName, Catalog>
  /** Counts crashes: what an older generation of a backend has in hand is lost. */
  readonly #generation = new Map<BackendName, number>()

  private constructor(catalogs: ReadonlyMap<BackendName, Catalog>) {
    this.#catalogs = catalogs
  }

  static async start(t: { teardown(handler: () => Promise<void>): void }): Promise<Party> {
    const catalogs = new Map<BackendName, Catalog>()
    const party = new Party(catalogs)
    for (const name of [...backendNames, guest] as const) {
      const catalog = await Catalog.start(t, name, {
        tools: [`only-${name}`, 'same'],
        resources: name === guest ? [] : [1, 2, 3].map(n => `${name}://${n}`),
        instructions: `this is ${name}`,
        // One answers by JSON where it can, one by event streams, one has small pages.
        ...(name === 'c' ? { page: 2 } : {}),
        capabilities: {
          tools: { listChanged: true },
          resources: { listChanged: true, subscribe: true },
          logging: {}
        },
        http: { json: name !== 'b', intercept: (request, _, body) => party.#seen(name, request, body) }
      })
      catalog.server.on('tools/call', turn => party.#play(name, turn))
      catalogs.set(name, catalog)
    }
    return party
  }

  catalog(name: BackendName): Catalog {
    return this.#catalogs.get(name)!
  }

  /** Connections break; `forgets`: sessions and calls are lost, too. */
  break(name: BackendName, forgets: boolean): void {
    const catalog = this.catalog(name)
    if (!forgets) {
      catalog.upstream.cut()
      return
    }
    this.#generation.set(name, this.#generationOf(name) + 1)
    catalog.crash()
  }

  /** Advertised names as they are to be with these backends on the route: own ones while no other has them. */
  expectedNames(route: readonly BackendName[]): string[] {
    const lists = route.map(name => ({
      name,
      tools: this.catalog(name).lists.tools.map(tool => String(tool.name))
    }))
    const owners = new Map<string, number>()
    for (const { tools } of lists) for (const tool of tools) owners.set(tool, (owners.get(tool) ?? 0) + 1)
    return lists.flatMap(({ name, tools }) => tools.map(tool => (owners.get(tool)! > 1 ? `${name}_${tool}` : tool)))
  }

  #generationOf(name: BackendName): number {
    return this.#generation.get(name) ?? 0
  }

  /** Notes the session that a call came in; nothing is answered here. */
  #seen(name: BackendName, request: IncomingMessage, body: string): boolean {
    const uid = /"uid":"(u\d+)"/.exec(body)?.[1]
    const record = uid === undefined ? undefined : this.ledger.get(uid)
    const session = String(request.headers['mcp-session-id'])
    if (record !== undefined && this.catalog(name).upstream.sessions.has(session))
      record.upstream = `${name}/${session}`
    return false
  }

  async #play(name: BackendName, turn: Turn): Promise<void> {
    const record = this.ledger.get((JSON.parse(turn.arguments) as { uid: string }).uid)
    if (record === undefined) return turn.refuse(-32000, 'nobody called this')
    const { script } = record
    record.starts++
    record.reached = name
    record.tool = turn.name
    if (!this.catalog(name).lists.tools.some(tool => tool.name === turn.name)) {
      record.over = true
      return turn.refuse(-32602, `Unknown tool: ${turn.name}`)
    }
    const born = this.#generationOf(name)
    void turn.cancelled.then(() => {
      record.cancelled = true
    })
    const goesOn = (): boolean => !record.cancelled && this.#generationOf(name) === born
    for (let step = 0; step < script.says + script.asks && goesOn(); step++) {
      if (script.delay > 0) await sleep(script.delay)
      if (!goesOn()) break
      if (step < script.says) say(turn, record)
      else await ask(turn, record)
    }
    if (script.delay > 0) await sleep(script.delay)
    record.over = true
    if (!goesOn() || script.end === 'never') return
    record.answered = true
    const told = { uid: record.uid, from: name, tool: turn.name }
    if (script.end === 'refuse') turn.refuse(-32050, 'no', told)
    else turn.answer(JSON.stringify({ content: [], ...told }))
  }
}

function say(turn: Turn, record: Record): void {
  record.said++
  turn.raw(
    `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${turn.token},"progress":${record.said},"message":"${record.uid}"}}`
  )
}

async function ask(turn: Turn, record: Record): Promise<void> {
  const asked = turn.ask('elicitation/create', { message: record.uid, requestedSchema: { type: 'object' } })
  const answer = await Promise.race([asked, turn.cancelled.then(() => undefined)])
  if (answer === undefined) return
  const { content } = (answer.result ?? {}) as { content?: { uid?: string } }
  if (answer.error === undefined && content?.uid !== record.uid) record.wrongAnswer = answer
}
