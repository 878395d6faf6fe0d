import { randomUUID } from 'node:crypto'
import type { Catalog } from '../../handlers/catalog.ts'
import type { LogLevel } from '../../handlers/content.ts'
import type { ClientFacts, Session } from '../../handlers/context.ts'
import type { Message } from '../../protocol/message.ts'
import { isModern } from '../../protocol/version.ts'
import type { Client } from '../../sessions/session.ts'
import type { Call } from '../backend.ts'
import type { Asked } from './asked.ts'
import { membersOf } from './caller.ts'
import { atLeast } from './levels.ts'
import type { ModernTasks } from './modern-tasks.ts'
import { Running } from './running.ts'
import type { Shared } from './shared.ts'
import type { Tasks } from './tasks.ts'

/** Subscriptions that one link may hold. */
export const maxSubscriptions = 1_000

/** What the calls of one link share: the client, its session, its log level, what it subscribed to. */
export class Conversation {
  /** Of the session; modern requests have their own ({@link Caller}). */
  readonly client: ClientFacts
  readonly session: Session
  readonly subscriptions = new Set<string>()
  /** What handlers asked, by the id that the client knows. */
  readonly asking = new Map<string, Asked>()
  /** Undefined: this client cannot have any. */
  tasks: Tasks | undefined
  readonly #shared: Shared
  readonly #receive: (message: Message) => void
  #level: LogLevel | false
  #ids = 0

  constructor(shared: Shared, client: Client, receive: (message: Message) => void) {
    this.#shared = shared
    this.#receive = receive
    this.client = {
      era: isModern(client.version) ? 'modern' : 'legacy',
      version: client.version,
      capabilities: membersOf(client.capabilities),
      info: membersOf(client.info)
    }
    this.session = sessionOf(new Map())
    this.#level = shared.logging
  }

  get backend(): string {
    return this.#shared.name
  }

  get catalog(): Catalog {
    return this.#shared.catalog
  }

  get pageSize(): number {
    return this.#shared.pageSize
  }

  get complete(): Shared['complete'] {
    return this.#shared.complete
  }

  get modernTasks(): ModernTasks {
    return this.#shared.modernTasks
  }

  /** What goes on beside a call of the link, and after it. It ends by itself, or is cancelled by whoever began it. */
  readonly beside = ({ request, caller }: Running, call: Call): Running =>
    new Running(this.#shared, request, call, caller, () => {})

  /** Runs the code of a handler. While it is on the stack, whoever watches this thread knows its name. */
  invoke<T>(name: string, work: () => T): T {
    const { marker } = this.#shared
    if (marker === undefined) return work()
    marker.enter(name)
    try {
      return work()
    } finally {
      marker.leave()
    }
  }

  /** Whether this level is let through. */
  logs(level: LogLevel): boolean {
    return this.#level !== false && atLeast(level, this.#level)
  }

  setLevel(level: LogLevel): void {
    this.#level = level
  }

  /** JSON text of the next request of a handler. */
  nextId(): string {
    return String(++this.#ids)
  }

  /** A notification that belongs to no call. */
  tell(message: Message): void {
    this.#receive(message)
  }

  /** For every link of the backend. So the next. */
  broadcast(message: Message): void {
    this.#shared.broadcast(message)
  }

  updated(uri: string): void {
    this.#shared.updated(uri)
  }

  warn(what: string, problem: string): void {
    this.#shared.warn(what, problem)
  }
}

const sessionOf = (values: Map<string, unknown>): Session => ({
  id: randomUUID(),
  get: key => values.get(key),
  set(key, value) {
    values.set(key, value)
  },
  delete: key => values.delete(key),
  has: key => values.has(key)
})
