/** A task of 2026-07-28 as its client sees it (extensions/tasks): it asks for its state until it is over, and answers what that wants to know. */
import { setTimeout as wait } from 'node:timers/promises'
import { ProtocolError } from '../handlers/errors.ts'
import { capabilitiesKey, tasksKey } from '../protocol/modern.ts'

/** The rest of it is the test's. */
type Meta = Readonly<Record<string, unknown>>

export interface TaskClient {
  /** `_meta` of every request. */
  readonly envelope: Meta
  // biome-ignore lint/suspicious/noExplicitAny: what comes back is read here
  request(method: string, params: unknown): Promise<any>
  /** Resolves to what the client answers. */
  answer(method: string, params: unknown, key: string): Promise<unknown>
}

/** Milliseconds between two questions: nobody else is disturbed. */
const patience = 2

/** What becomes of a call that may be a task. Rejects with a ProtocolError, or with the signal's reason. */
export async function followTask(client: TaskClient, params: Meta, meta: Meta, signal?: AbortSignal): Promise<unknown> {
  const _meta = { ...meta, [capabilitiesKey]: declaring(client.envelope[capabilitiesKey] as Meta) }
  const begun = await client.request('tools/call', { ...params, _meta })
  if (begun.resultType !== 'task') return begun
  const { taskId } = begun
  const answered = new Set<string>()
  for (;;) {
    if (signal?.aborted === true) {
      await client.request('tasks/cancel', { taskId, _meta })
      throw signal.reason
    }
    const task = await client.request('tasks/get', { taskId, _meta })
    if (task.status === 'completed') return task.result
    if (task.status === 'failed') throw new ProtocolError(task.error.code, task.error.message, task.error.data)
    if (task.status === 'cancelled') throw new ProtocolError(-32603, task.statusMessage ?? 'The task was cancelled.')
    const asked = Object.entries((task.inputRequests ?? {}) as Record<string, { method: string; params?: unknown }>)
    for (const [key, { method, params }] of asked) {
      if (answered.has(key)) continue
      answered.add(key)
      const response = await client.answer(method, params, key)
      await client.request('tasks/update', { taskId, inputResponses: { [key]: response }, _meta })
    }
    await wait(patience)
  }
}

const declaring = (capabilities: Meta): Meta => ({
  ...capabilities,
  extensions: { ...(capabilities.extensions as Meta | undefined), [tasksKey]: {} }
})
