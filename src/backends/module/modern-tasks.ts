/**
 * The tasks of modern clients (extensions/tasks): there are no sessions that they could belong to, so that the backend has
 * them. A principal finds its own alone; where nobody is known the random id is all that protects one.
 */
import { anonymous, type Principal } from '../../auth/principal.ts'
import { MissingCapabilityError, ProtocolError } from '../../handlers/errors.ts'
import type { AnyTool } from '../../handlers/handler.ts'
import { type Message, readMessage } from '../../protocol/message.ts'
import { tasksKey } from '../../protocol/modern.ts'
import { objectOf } from './ask.ts'
import { ModernTask } from './modern-task.ts'
import { type Params, stringOf } from './params.ts'
import type { Running } from './running.ts'
import { timesOf } from './task-times.ts'

/** Tasks of one principal, or of all who are not known; running and kept. */
const maxOwned = 100
const maxUnknown = 1_000

/** Who hears of some tasks. */
export interface Listener {
  readonly ids: ReadonlySet<string>
  tell(message: Message): void
}

export class ModernTasks {
  readonly #maxBytes: number
  readonly #tasks = new Map<string, ModernTask>()
  readonly #listeners = new Set<Listener>()
  #timer: NodeJS.Timeout | undefined

  /** `maxBytes`: of the results that are kept for one owner. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** The call becomes a task. Throws ProtocolError -32603 when its owner has too many. */
  create(running: Running, tool: AnyTool): ModernTask {
    const owner = running.call.principal.key
    const most = owner === anonymous.key ? maxUnknown : maxOwned
    if (!this.#makeRoom(owner, () => this.#of(owner).length < most)) {
      throw new ProtocolError(
        -32603,
        `There are ${most} tasks already: when one is over and was asked for, there is room.`
      )
    }
    const task = new ModernTask(running, {
      owner,
      ...timesOf(tool),
      room: size => this.#makeRoom(owner, () => this.#sizeOf(owner) + size <= this.#maxBytes),
      changed: changed => this.#tell(changed)
    })
    this.#tasks.set(task.id, task)
    this.#arm()
    return task
  }

  /** -32602 when there is none: never was, expired, or another principal's. */
  find(params: Params, principal: Principal): ModernTask {
    const task = this.#seen(stringOf(params, 'taskId'), principal)
    if (task === undefined) throw new ProtocolError(-32602, 'There is no such task, or it has expired.')
    return task
  }

  /** Those of these that are the principal's. */
  owned(ids: readonly unknown[], principal: Principal): ModernTask[] {
    return ids.flatMap(id => (typeof id === 'string' ? (this.#seen(id, principal) ?? []) : []))
  }

  /** Until the function that it gives is called. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const task of this.#tasks.values()) task.cancel('The backend is closed.')
    this.#tasks.clear()
  }

  #seen(id: string, { key }: Principal): ModernTask | undefined {
    const task = this.#tasks.get(id)
    return task?.owner === key ? task : undefined
  }

  #of(owner: string): ModernTask[] {
    return [...this.#tasks.values()].filter(task => task.owner === owner)
  }

  #sizeOf(owner: string): number {
    return this.#of(owner).reduce((sum, { size }) => sum + size, 0)
  }

  /** Lets tasks go whose outcome was told, the oldest first, until it is enough. */
  #makeRoom(owner: string, enough: () => boolean): boolean {
    if (enough()) return true
    for (const task of this.#of(owner)) {
      if (!task.fetched) continue
      this.#tasks.delete(task.id)
      if (enough()) return true
    }
    return false
  }

  #tell(task: ModernTask): void {
    for (const listener of this.#listeners) if (listener.ids.has(task.id)) listener.tell(statusOf(task))
  }

  #arm(): void {
    clearTimeout(this.#timer)
    if (this.#tasks.size === 0) return
    const next = Math.min(...[...this.#tasks.values()].map(({ expires }) => expires))
    this.#timer = setTimeout(() => this.#expire(), Math.max(0, next - Date.now()))
    this.#timer.unref()
  }

  /** A task that still runs has had its time. */
  #expire(): void {
    const now = Date.now()
    for (const task of this.#tasks.values()) {
      if (task.expires > now) continue
      task.cancel('The time to live of the task is over.')
      this.#tasks.delete(task.id)
    }
    this.#arm()
  }
}

/** `notifications/tasks` with all that `tasks/get` would tell. */
export function statusOf(task: ModernTask): Message {
  const text = `{"jsonrpc":"2.0","method":"notifications/tasks","params":${task.detailed.text}}`
  return readMessage(Buffer.from(text), anyDepth)
}

/** Own messages are not nested deeper. */
const anyDepth = 1_000

/**
 * Whether a call of a modern client may be a task: the tool runs as one, and the request declares the extension. Throws a
 * MissingCapabilityError when the tool runs in no other way.
 */
export function mayBeTask({ execution, name }: AnyTool, { caller }: Running): boolean {
  const support = execution?.taskSupport ?? 'forbidden'
  if (support === 'forbidden') return false
  const extensions = objectOf(caller.client.capabilities.extensions)
  if (extensions !== undefined && Object.hasOwn(extensions, tasksKey)) return true
  if (support === 'optional') return false
  throw new MissingCapabilityError({ extensions: { [tasksKey]: {} } }, `The tool ${name} runs as a task only.`)
}
