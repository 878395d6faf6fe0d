/** The tasks of one link: created by tool calls, kept for their time to live, found by nobody else (basic/utilities/tasks). */
import { anonymous, type Principal } from '../../auth/principal.ts'
import { ProtocolError } from '../../handlers/errors.ts'
import type { AnyTool } from '../../handlers/handler.ts'
import type { Call } from '../backend.ts'
import type { Conversation } from './conversation.ts'
import { page } from './page.ts'
import { type Params, stringOf } from './params.ts'
import { relatedMeta } from './related.ts'
import { Running } from './running.ts'
import type { Shared } from './shared.ts'
import { Task } from './task.ts'
import { timesOf } from './task-times.ts'

/** Tasks of one principal, or of a session of somebody who is not known; running and kept. */
const maxTasks = 100

export class Tasks {
  readonly #shared: Shared
  readonly #conversation: Conversation
  readonly #running: Set<Running>
  readonly #owner: unknown
  readonly #tasks = new Map<string, Task>()
  #timer: NodeJS.Timeout | undefined

  /** `running`: the calls of the link, which ends them with itself. */
  constructor(shared: Shared, conversation: Conversation, running: Set<Running>, principal: Principal) {
    this.#shared = shared
    this.#conversation = conversation
    this.#running = running
    this.#owner = principal.key === anonymous.key ? this : principal.key
  }

  /** Begins `work` as a task; resolves at once to a CreateTaskResult. -32602 for a `task` that is none. */
  create(params: unknown, tool: AnyTool, creator: Running, work: (running: Running) => unknown): unknown {
    const times = timesOf(tool, ttlOf(params))
    if (!this.#makeRoom(() => this.#count < maxTasks)) {
      throw new ProtocolError(-32603, `There are ${maxTasks} tasks already: get the result of one, then there is room.`)
    }
    const { principal } = creator.call
    const call: Call = { principal }
    const { request, caller } = creator
    const running = new Running(this.#shared, request, call, caller, over => this.#running.delete(over))
    const task = new Task(this.#conversation, running, times)
    this.#tasks.set(task.id, task)
    this.#shared.tasks.set(this.#owner, this.#count + 1)
    this.#running.add(running)
    this.#arm()
    void task.follow(bytes => this.#makeRoom(() => this.#size + bytes <= this.#shared.maxBytes))
    setImmediate(() => void running.run(() => work(running)))
    return { task: task.listed, _meta: relatedMeta(task.id) }
  }

  /** -32602 when there is none: never was, expired, or another session's. */
  find(params: Params): Task {
    const task = this.#tasks.get(stringOf(params, 'taskId'))
    if (task === undefined || task.expires <= Date.now()) {
      throw new ProtocolError(-32602, 'There is no such task, or it has expired.')
    }
    return task
  }

  list(cursor: unknown): unknown {
    const now = Date.now()
    const tasks = [...this.#tasks.values()].filter(({ expires }) => expires > now).map(({ listed }) => listed)
    const { items, nextCursor } = page('tasks', tasks, cursor, this.#conversation.pageSize)
    return { tasks: items, nextCursor }
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const task of this.#tasks.values()) this.#drop(task)
  }

  /** Of the owner, in whatever session. */
  get #count(): number {
    return this.#shared.tasks.get(this.#owner) ?? 0
  }

  get #size(): number {
    return [...this.#tasks.values()].reduce((sum, { size }) => sum + size, 0)
  }

  #drop(task: Task): void {
    this.#tasks.delete(task.id)
    if (this.#count > 1) this.#shared.tasks.set(this.#owner, this.#count - 1)
    else this.#shared.tasks.delete(this.#owner)
  }

  /** Lets tasks go whose result was fetched, the oldest first, until it is enough. */
  #makeRoom(enough: () => boolean): boolean {
    for (const task of this.#tasks.values()) {
      if (enough()) return true
      if (task.fetched) this.#drop(task)
    }
    return enough()
  }

  #arm(): void {
    clearTimeout(this.#timer)
    if (this.#tasks.size === 0) return
    const next = Math.min(...[...this.#tasks.values()].map(({ expires }) => expires))
    this.#timer = setTimeout(() => this.#expire(), Math.max(0, next - Date.now()))
  }

  /** A task that still runs has had its time. */
  #expire(): void {
    const now = Date.now()
    for (const task of this.#tasks.values()) {
      if (task.expires > now) continue
      this.#drop(task)
      task.cancel('The time to live of the task is over.')
    }
    this.#arm()
  }
}

function ttlOf(params: unknown): number | null | undefined {
  if (typeof params !== 'object' || params === null || Array.isArray(params)) {
    throw new ProtocolError(-32602, '"params.task" must be an object.')
  }
  const { ttl } = params as { ttl?: unknown }
  if (ttl === undefined || ttl === null) return ttl
  if (typeof ttl !== 'number' || !(ttl >= 0)) {
    throw new ProtocolError(-32602, '"params.task.ttl" must be a number of milliseconds.')
  }
  return ttl
}

/** Whether a call runs as a task ("Tool-Level Negotiation", R125). -32601 when the tool does not run that way. */
export function isTask({ name, execution }: AnyTool, task: unknown): boolean {
  const support = execution?.taskSupport ?? 'forbidden'
  const wanted = task !== undefined
  if (wanted && support === 'forbidden') throw new ProtocolError(-32601, `The tool ${name} does not run as a task.`)
  if (!wanted && support === 'required') throw new ProtocolError(-32601, `The tool ${name} runs as a task only.`)
  return wanted
}

export const getTask = ({ tasks }: Conversation, params: Params): unknown => tasks!.find(params).listed

export const listTasks = ({ tasks }: Conversation, { cursor }: Params): unknown => tasks!.list(cursor)

export const taskResult = ({ tasks }: Conversation, params: Params, running: Running): unknown =>
  tasks!.find(params).result(running)

export function cancelTask({ tasks }: Conversation, params: Params): unknown {
  const task = tasks!.find(params)
  if (task.isOver) {
    throw new ProtocolError(-32602, `Cannot cancel task: already in terminal status '${task.listed.status}'`)
  }
  task.cancel('The task was cancelled by request.')
  return task.listed
}
