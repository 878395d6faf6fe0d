/** Modern servers whose tools run as tasks, for tests: they speak as the fixture of the conformance suite does. */
import type { ServerResponse } from 'node:http'
import { Server } from '@modelcontextprotocol/server'
import type { Test } from 'tap'
import { serveTasks, tasksExtension, taskTools } from '../fixtures/conformance/modern-tasks.ts'
import { type Heard, type ModernHttp, serveModernHttp } from '../fixtures/modern/serve.ts'
import { lastOf, ModernClient } from './modern.ts'
import { until } from './until.ts'

export const withTasks = { extensions: { [tasksExtension]: {} } }

/** Declares tasks and forms. */
export const taskClient = (url: string): ModernClient =>
  new ModernClient(url, { capabilities: { elicitation: {}, ...withTasks } })

export async function startTaskServer(t: Test): Promise<ModernHttp> {
  const modern = await serveModernHttp(() => {
    const server = new Server({ name: 'tasks', version: '1' }, { capabilities: { tools: {}, ...withTasks } })
    const tools = Object.entries(taskTools).map(([name, { inputSchema }]) => ({ name, inputSchema }))
    server.setRequestHandler('tools/list', () => ({ tools }) as never)
    server.setRequestHandler(
      'tools/call',
      async ({ params }, ctx) => (await taskTools[params.name]!.run(ctx, params.arguments ?? {})) as { content: [] }
    )
    serveTasks(server)
    return server
  })
  t.teardown(() => modern.stop())
  return modern
}

/** What came of a method. */
export const heardOf = ({ heard }: ModernHttp, method: string): readonly Heard[] =>
  heard.filter(({ body }) => body.method === method)

/** The task once it is in a state; by `tasks/get`. */
export async function taskIn(client: ModernClient, taskId: string, status: string, headers = {}): Promise<any> {
  let task: any
  await until(`the task is ${status}`, async () => {
    task = (await lastOf(await client.request('tasks/get', { taskId }, { headers }))).result
    return task.status === status
  })
  return task
}

/** A `subscriptions/listen` that the test answers by itself: an SDK server knows nothing of tasks there. */
export class TaskStream {
  readonly ids: readonly string[]
  readonly #id: unknown
  readonly #response: ServerResponse

  constructor(id: unknown, ids: readonly string[], response: ServerResponse) {
    this.#id = id
    this.ids = ids
    this.#response = response
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
  }

  get gone(): boolean {
    return this.#response.closed
  }

  acknowledge(taskIds: readonly string[] = this.ids): void {
    this.#say('notifications/subscriptions/acknowledged', { notifications: { taskIds } })
  }

  tell(task: Record<string, unknown>): void {
    this.#say('notifications/tasks', task)
  }

  end(): void {
    const result = { resultType: 'complete', _meta: this.#meta }
    this.#response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: this.#id, result })}\n\n`)
  }

  break(): void {
    this.#response.destroy()
  }

  get #meta(): Record<string, unknown> {
    return { 'io.modelcontextprotocol/subscriptionId': this.#id }
  }

  #say(method: string, params: Record<string, unknown>): void {
    const message = { jsonrpc: '2.0', method, params: { ...params, _meta: this.#meta } }
    this.#response.write(`data: ${JSON.stringify(message)}\n\n`)
  }
}

/** The next subscription of tasks at this server. */
export function nextStream(modern: ModernHttp): Promise<TaskStream> {
  const { promise, resolve } = Promise.withResolvers<TaskStream>()
  modern.intercept = ({ body }, response) => {
    if (body.method !== 'subscriptions/listen') return false
    const { notifications } = body.params as { notifications: { taskIds?: string[] } }
    if (notifications.taskIds === undefined) return false
    resolve(new TaskStream(body.id, notifications.taskIds, response))
    return true
  }
  return promise
}
