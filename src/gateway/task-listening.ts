/**
 * Status of tasks for one subscription (extensions/tasks, "Task Status Notifications"): a `subscriptions/listen` of its own at
 * each backend whose tasks it is about. What comes of them goes by the handles that the client knows.
 */
import type { Backend, Exchange } from '../backends/backend.ts'
import { settled } from '../protocol/envelope.ts'
import { makeRequest } from '../protocol/make.ts'
import { type Message, stringParam, textParam } from '../protocol/message.ts'
import { capabilitiesKey, tasksKey } from '../protocol/modern.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { facts } from '../telemetry/events.ts'
import type { Context } from './context.ts'
import type { Asker } from './modern-call.ts'
import { withHandles } from './modern-tasks.ts'
import type { Subscription } from './subscription.ts'

/** How long (ms) backends have to agree. */
const patienceMs = 2_000

/** Of one backend: its own ids, and what the client calls them. */
type Wanted = ReadonlyMap<string, string>

export class TaskListening {
  readonly #asker: Asker
  readonly #context: Pick<Context, 'links' | 'seats' | 'taskHandles'>
  readonly #subscription: Pick<Subscription, 'tell' | 'end'>
  readonly #exchanges = new Set<Exchange>()
  #seat: Live | undefined
  #closed = false

  constructor(
    asker: Asker,
    context: Pick<Context, 'links' | 'seats' | 'taskHandles'>,
    subscription: Pick<Subscription, 'tell' | 'end'>
  ) {
    this.#asker = asker
    this.#context = context
    this.#subscription = subscription
  }

  /** Resolves to the handles of the tasks that backends agreed to tell of. Never rejects. */
  async open(handles: readonly string[]): Promise<readonly string[]> {
    if (handles.length === 0) return []
    const byBackend = new Map<Backend, Map<string, string>>()
    for (const handle of handles) {
      const task = this.#context.taskHandles.read(handle, this.#asker)
      if (task === undefined) continue
      const wanted = byBackend.get(task.backend) ?? new Map<string, string>()
      byBackend.set(task.backend, wanted.set(task.id, handle))
    }
    const { route, principal, address } = this.#asker
    const { seats } = this.#context
    this.#seat = seats.home({ route: route.path, principal, address, capabilities: '{}' })
    seats.hold(this.#seat)
    const agreed = await Promise.all([...byBackend].map(([backend, wanted]) => this.#agreed(backend, wanted)))
    const told = new Set(agreed.flat())
    return handles.filter(handle => told.has(handle))
  }

  /** Nobody listens any more. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    if (this.#seat !== undefined) this.#context.seats.drop(this.#seat)
    for (const exchange of this.#exchanges) exchange.cancel('nobody listens any more')
  }

  async #agreed(backend: Backend, wanted: Wanted): Promise<readonly string[]> {
    const late = Promise.withResolvers<undefined>()
    const timer = setTimeout(() => late.resolve(undefined), patienceMs)
    try {
      const asking = this.#ask(backend, [...wanted.keys()])
      const exchange = await Promise.race([asking, late.promise])
      if (exchange === undefined) {
        asking.then(
          left => left?.cancel(),
          () => {}
        )
        return []
      }
      const first = await Promise.race([exchange.next(), late.promise])
      const ids = first?.done === false ? acknowledged(first.value) : []
      const told = ids.filter(id => wanted.has(id))
      if (told.length === 0) exchange.cancel()
      else void this.#read(exchange, wanted, new Set(told))
      return told.map(id => wanted.get(id)!)
    } catch (error) {
      facts.notice.publish({ level: 'info', text: 'status of tasks is not heard', backend: backend.name, error })
      return []
    } finally {
      clearTimeout(timer)
    }
  }

  /** Undefined: the backend has no subscriptions. */
  async #ask(backend: Backend, taskIds: readonly string[]): Promise<Exchange | undefined> {
    const { upstream } = await this.#context.links.get(this.#seat!, backend)
    if (upstream === undefined || this.#closed) return undefined
    const exchange = upstream.exchange(
      makeRequest('0', 'subscriptions/listen', {
        notifications: { taskIds },
        _meta: { [capabilitiesKey]: { extensions: { [tasksKey]: {} } } }
      })
    )
    this.#exchanges.add(exchange)
    return exchange
  }

  /** A stream that ends before its tasks do would leave the client waiting: its subscription ends, too. */
  async #read(exchange: Exchange, wanted: Wanted, open: Set<string>): Promise<void> {
    try {
      for await (const message of exchange) {
        if (message.method !== 'notifications/tasks') continue
        const id = stringParam(message, 'taskId')
        const handle = id === undefined ? undefined : wanted.get(id)
        if (handle === undefined) continue
        if (isOver(message)) open.delete(id!)
        const start = message.scanned.params!.start
        this.#subscription.tell(settled(withHandles(message, start, own => wanted.get(own) ?? own)))
      }
    } catch {
      // The end of the stream says as much.
    }
    this.#exchanges.delete(exchange)
    if (!this.#closed && open.size > 0) this.#subscription.end()
  }
}

/** Ids that the backend says to tell of. */
function acknowledged(message: Message): readonly string[] {
  if (message.method !== 'notifications/subscriptions/acknowledged') return []
  const { taskIds } = JSON.parse(textParam(message, 'notifications') ?? '{}') as { taskIds?: unknown }
  return Array.isArray(taskIds) ? taskIds.filter(id => typeof id === 'string') : []
}

const over = new Set(['completed', 'failed', 'cancelled'])

const isOver = (message: Message): boolean => over.has(stringParam(message, 'status') ?? '')
