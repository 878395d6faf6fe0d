/** Makes the tools of a server run as tasks, with ids that count from 1: those of two servers are the same. */
import { stringParam } from '../../src/protocol/message.ts'
import { value } from '../../src/protocol/write.ts'
import type { Answer, Turn } from './scripted.ts'
import type { Stocked } from './union.ts'

export const relatedTask = 'io.modelcontextprotocol/related-task'

/** As a server that has all of it says. */
export const taskCapabilities = {
  tools: {},
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } }
} as const

interface Task {
  readonly taskId: string
  status: string
  readonly over: PromiseWithResolvers<string>
}

export class Tasks {
  /** What the client answered to what tasks asked it. */
  readonly answers: Answer[] = []
  readonly server: Stocked
  readonly #name: string
  readonly #all = new Map<string, Task>()

  constructor(server: Stocked) {
    this.server = server
    this.#name = server.name
    server.on('tools/call', turn => {
      if (!turn.message.scanned.params!.keys.includes('task')) return turn.answer('{"content":[]}')
      const taskId = String(this.#all.size + 1)
      this.#all.set(taskId, { taskId, status: 'working', over: Promise.withResolvers() })
      turn.answer(JSON.stringify({ task: this.#listed(taskId), _meta: { [relatedTask]: { taskId } } }))
    })
    server.on('tasks/get', turn => {
      const taskId = this.#known(turn)
      if (taskId !== undefined) turn.answer(JSON.stringify(this.#listed(taskId)))
    })
    server.on('tasks/cancel', turn => {
      const taskId = this.#known(turn)
      if (taskId === undefined) return
      this.#all.get(taskId)!.status = 'cancelled'
      turn.answer(JSON.stringify(this.#listed(taskId)))
    })
    server.on('tasks/list', turn => {
      const at = Number(stringParam(turn.message, 'cursor') ?? 0)
      const ids = [...this.#all.keys()]
      const next = at + 2 < ids.length ? { nextCursor: String(at + 2) } : {}
      turn.answer(JSON.stringify({ tasks: ids.slice(at, at + 2).map(id => this.#listed(id)), ...next }))
    })
    server.on('tasks/result', async turn => {
      const taskId = this.#known(turn)
      if (taskId === undefined) return
      const text = await this.#all.get(taskId)!.over.promise
      turn.answer(JSON.stringify({ content: [{ type: 'text', text }], _meta: { [relatedTask]: { taskId } } }))
    })
  }

  /** The task asks on the stream of `tasks/result`. */
  asksAtResult(): void {
    this.server.on('tasks/result', async turn => {
      const taskId = this.#known(turn)
      if (taskId === undefined) return
      const meta = { [relatedTask]: { taskId } }
      const answer = await turn.ask('elicitation/create', {
        message: `${this.#name}?`,
        requestedSchema: { type: 'object', properties: {} },
        _meta: meta
      })
      this.answers.push(answer)
      turn.answer(JSON.stringify({ content: [{ type: 'text', text: this.#name }], _meta: meta }))
    })
  }

  finish(taskId: string, text: string): void {
    const task = this.#all.get(taskId)!
    task.status = 'completed'
    task.over.resolve(text)
  }

  /** `taskId` of the request; undefined: it was refused. */
  #known(turn: Turn): string | undefined {
    const { taskId } = value(turn.message).params as { taskId: string }
    if (this.#all.has(taskId)) return taskId
    turn.refuse(-32602, `${this.#name}: no such task`)
    return undefined
  }

  #listed(taskId: string): object {
    const { status } = this.#all.get(taskId)!
    const time = '2025-11-25T10:30:00Z'
    return { taskId, status, statusMessage: this.#name, createdAt: time, lastUpdatedAt: time, ttl: 60_000 }
  }
}
