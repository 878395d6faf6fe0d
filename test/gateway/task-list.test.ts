import t from 'tap'
import { GatewayError } from '../../src/errors.ts'
import { taskList } from '../../src/gateway/task-list.ts'
import { makeRequest, makeResult } from '../../src/protocol/make.ts'
import { type Message, readMessage, stringParam } from '../../src/protocol/message.ts'
import { value } from '../../src/protocol/write.ts'

/** Tasks of each backend, one on a page; cursors are numbers of pages. */
const tasks: Readonly<Record<string, readonly string[]>> = { a: ['1', '2', '3'], b: ['1', '2'], c: [] }

const ask = async (backend: string, request: Message): Promise<Message> => {
  const at = stringParam(request, 'cursor') ?? ''
  const page = Number(at)
  if (page > 9) return readMessage(Buffer.from('{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"no"}}'), 9)
  const list = tasks[backend]!
  const next = page + 1 < list.length ? String(page + 1) : undefined
  return makeResult('0', { tasks: list.slice(page, page + 1).map(taskId => ({ taskId })), nextCursor: next })
}

const options = { backends: ['a', 'b', 'c'], ask, skip: true }

const list = async (cursor?: unknown, more: Partial<typeof options> = {}): Promise<any> =>
  value(
    await taskList(makeRequest('"x"', 'tasks/list', cursor === undefined ? {} : { cursor }), { ...options, ...more })
  )

const broken = async (backend: string, request: Message): Promise<Message> => {
  if (backend === 'b') throw new GatewayError('backend_unavailable', 'gone')
  if (backend === 'c') return makeResult('0', {})
  return ask(backend, request)
}

t.test('R121: the tasks of all backends are one list, with pages of its own', async t => {
  const first = await list()
  t.equal(first.id, 'x')
  t.same(
    first.result.tasks.map(({ taskId }: { taskId: string }) => taskId),
    ['a~1', 'b~1']
  )
  const second = await list(first.result.nextCursor)
  t.same(second.result.tasks, [{ taskId: 'a~2' }, { taskId: 'b~2' }])
  const third = await list(second.result.nextCursor)
  t.same(third.result, { tasks: [{ taskId: 'a~3' }] }, 'the last page has no cursor')
})

t.test('R121: a cursor that was not given here is refused, and nobody is asked', async t => {
  const seal = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  let asked = 0
  const counting = (backend: string, request: Message): Promise<Message> => {
    asked++
    return ask(backend, request)
  }
  const bad = ['', '%', 1, null, seal(1), seal({}), seal({ tasks: {} }), seal({ tasks: { d: '1' } })]
  for (const cursor of [...bad, seal({ tasks: { a: 1 } }), seal({ tasks: 'a' }), seal({ tools: { a: '1' } })]) {
    await t.rejects(list(cursor, { ask: counting }), { code: 'params' }, String(cursor))
  }
  t.equal(asked, 0)
  await t.rejects(list(seal({ tasks: { a: '10' } })), { code: 'params' }, 'one that its backend does not know')
})

t.test('onError: skip leaves out backends that fail and names them', async t => {
  const { result } = await list(undefined, { ask: broken })
  t.same(result.tasks, [{ taskId: 'a~1' }])
  t.same(result._meta, { 'dev.causeway/unavailable': ['b', 'c'] })
})

t.test('onError: fail refuses the list when one backend fails', async t => {
  await t.rejects(list(undefined, { ask: broken, skip: false }), { code: 'backend_unavailable' })
})
