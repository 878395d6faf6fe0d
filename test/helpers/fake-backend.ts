/** A backend whose openings, exchanges and ends are in the test's hands. */
import type { Backend, Exchange, Link, OpenOptions, Server } from '../../src/backends/backend.ts'
import { Queue } from '../../src/backends/queue.ts'
import { GatewayError } from '../../src/errors.ts'
import { type Message, readMessage } from '../../src/protocol/message.ts'
import { value } from '../../src/protocol/write.ts'
import type { Live } from '../../src/sessions/lifecycle.ts'
import type { SessionRecord } from '../../src/sessions/session.ts'

export const messageOf = (message: object | string): Message =>
  readMessage(
    Buffer.from(typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message })),
    1_000
  )

export class FakeExchange {
  readonly request: Message
  readonly queue: Queue
  /** How the reader let go of it. */
  readonly told: string[] = []

  constructor(request: Message) {
    this.request = request
    this.queue = new Queue({
      cancel: reason => void this.told.push(`cancel ${reason}`),
      detach: () => void this.told.push('detach')
    })
  }

  say(message: object): void {
    this.queue.push(messageOf(message))
  }

  answer(result: object = {}): void {
    this.queue.finish(messageOf({ id: JSON.parse(this.request.id!), result }))
  }
}

export class FakeLink implements Link {
  readonly era = 'legacy'
  readonly server: Server
  readonly state: string | undefined
  readonly options: OpenOptions
  readonly exchanges: FakeExchange[] = []
  /** What was sent besides requests, as values. */
  readonly sent: any[] = []
  readonly listened: boolean[] = []
  closed = 0
  /** What every request gets; undefined: nothing by itself. */
  answers: ((exchange: FakeExchange) => void) | undefined

  constructor(options: OpenOptions, state: string | undefined, capabilities: Record<string, unknown>) {
    this.options = options
    this.state = state
    this.server = { version: '2025-11-25', capabilities, result: JSON.stringify({ capabilities }) }
  }

  exchange(request: Message): Exchange {
    const exchange = new FakeExchange(request)
    this.exchanges.push(exchange)
    this.answers?.(exchange)
    return exchange.queue
  }

  resume(): Exchange {
    throw new TypeError('not here')
  }

  async send(message: Message): Promise<void> {
    this.sent.push(value(message))
  }

  listen(on: boolean): void {
    this.listened.push(on)
  }

  async close(): Promise<void> {
    this.closed++
  }

  /** The upstream loses its side. */
  lose(): void {
    this.options.ended(new GatewayError('backend_session_lost', 'lost'))
  }
}

interface Opening {
  readonly options: OpenOptions
  /** Opens: with this state. */
  succeed(state?: string): FakeLink
  fail(error?: Error): void
}

export class FakeBackend implements Backend {
  readonly name = 'fake'
  readonly identity: string
  readonly scope: 'session' | 'shared'
  readonly openings: Opening[] = []
  capabilities: Record<string, unknown> = {}
  answers: FakeLink['answers']
  /** Open at once. */
  eager = false

  constructor(scope: 'session' | 'shared' = 'session', identity = `fake ${scope}`) {
    this.scope = scope
    this.identity = identity
  }

  get last(): Opening {
    return this.openings.at(-1)!
  }

  open(options: OpenOptions): Promise<Link> {
    const { promise, resolve, reject } = Promise.withResolvers<Link>()
    const opening: Opening = {
      options,
      succeed: state => {
        const link = new FakeLink(options, state ?? options.state, this.capabilities)
        link.answers = this.answers
        resolve(link)
        return link
      },
      fail: (error = new GatewayError('backend_unavailable', 'no', { backend: this.name })) => reject(error)
    }
    options.signal.addEventListener('abort', () => reject(options.signal.reason))
    this.openings.push(opening)
    if (this.eager) opening.succeed(`state ${this.openings.length}`)
    return promise
  }

  tune(): void {}

  async close(): Promise<void> {}
}

let sessions = 0

export function liveOf(record: Partial<SessionRecord> = {}, live: Partial<Live> = {}): Live {
  return {
    record: {
      id: `session-${++sessions}`,
      revision: 0,
      route: '/mcp',
      principal: 'anonymous',
      group: 'here',
      client: { version: '2025-11-25', capabilities: '{}', info: '{"name":"c","version":"1"}' },
      operating: true,
      subscriptions: [],
      links: {},
      ...record
    },
    opened: 0,
    seen: 0,
    busy: 0,
    closed: false,
    ephemeral: false,
    ...live
  }
}

/** Changes records as the sessions do, without a store. */
export const updates = {
  async update(live: Live, change: (record: SessionRecord) => Partial<SessionRecord>): Promise<boolean> {
    live.record = { ...live.record, ...change(live.record), revision: live.record.revision + 1 }
    return true
  }
}

/** Lets everything run that needs no more than its turn. */
export const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
