/** Tasks of several backends (2025-11-25 basic/utilities/tasks): each request goes to the one whose task it is; lists are merged. */
import { GatewayError } from '../../errors.ts'
import { later, responseOf } from '../../exchanges/acting.ts'
import type { Running } from '../../exchanges/running.ts'
import { single } from '../../exchanges/source.ts'
import { withParam } from '../../protocol/edit.ts'
import { errorMessage } from '../../protocol/make.ts'
import { type Message, stringParam } from '../../protocol/message.ts'
import { parseHandle } from '../handles.ts'
import { taskList } from '../task-list.ts'
import type { Method } from './method.ts'
import type { UnionMethod } from './union-call.ts'

/** `tasks/get`, `tasks/result`, `tasks/cancel`. What is no handle of this route is refused before any backend hears of it. */
export const ofTask: UnionMethod = ({ request, union, note, run }) => {
  if (union.members.length === 1) return run(union.members[0]!.backend, request)
  const handle = parseHandle(stringParam(request, 'taskId') ?? '')
  const backend = handle && union.member(handle.backend)?.backend
  if (backend === undefined) {
    return single(errorMessage(new GatewayError('params', 'params.taskId: there is no such task'), request.id))
  }
  note.backend = backend.name
  return run(backend, withParam(request, 'taskId', JSON.stringify(handle!.id)))
}

/** `tasks/list` where one backend is served as it is. */
export const listOwnTasks: Method = ({ request, backend, run }) =>
  backend.scope === 'session' ? run(request) : single(errorMessage(noLists(), request.id))

/** `tasks/list` of several. An upstream that several sessions share lists to nobody: its tasks are not the session's own. */
export const listTasks: UnionMethod = ({ request, union, context, run }) => {
  const backends = union.members
    .map(({ backend }) => backend)
    .filter(backend => backend.scope === 'session' && lists(context.known.get(backend)?.capabilities))
  if (backends.length === 0) {
    return single(errorMessage(noLists(), request.id))
  }
  if (union.members.length === 1) return run(backends[0]!, request)
  const asked: Running[] = []
  const ask = (name: string, upstream: Message): Promise<Message> => {
    const running = run(backends.find(backend => backend.name === name)!, upstream)
    asked.push(running)
    return within(running, union.options.listTimeoutMs)
  }
  const options = { backends: backends.map(({ name }) => name), ask, skip: union.options.onError === 'skip' }
  return later(
    request.id!,
    async () => single(await taskList(request, options)),
    reason => {
      for (const running of asked) running.cancel(reason)
    }
  )
}

const noLists = (): GatewayError => new GatewayError('method', 'no backend lists its tasks')

const lists = (capabilities: Readonly<Record<string, unknown>> | undefined): boolean =>
  (capabilities?.tasks as { list?: unknown } | undefined)?.list !== undefined

/** The response of a backend; one that takes longer than lists may is given up. */
async function within(running: Running, listTimeoutMs: number): Promise<Message> {
  const { name } = running.backend
  const text = `backend "${name}" did not answer tasks/list within ${listTimeoutMs} ms`
  const timer = setTimeout(() => running.fail(new GatewayError('timeout', text, { backend: name })), listTimeoutMs)
  try {
    const response = await responseOf(running)
    if (response !== undefined) return response
    throw new GatewayError('backend_broke', 'the call was given up', { backend: name })
  } finally {
    clearTimeout(timer)
  }
}
