/** Tasks of handlers through a whole gateway, with the official client and with one that shows everything. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import t, { type Test } from 'tap'
import { startGateway } from '../helpers/gateway.ts'
import { RawClient } from '../helpers/raw-client.ts'

const handlers = {
  'job.mjs': `
    export default {
      name: 'job',
      execution: { taskSupport: 'optional' },
      async handler(args, { elicitText, progress }) {
        progress(1, 2, 'asking')
        const name = await elicitText('Name?')
        progress(2, 2, 'asked')
        return 'Hello, ' + name
      }
    }`
}

const served = async (t: Test): Promise<string> => {
  const file = {
    backends: { local: { kind: 'module', path: '.', timeout: '200ms', maxTime: '300ms' } },
    streams: { sseAfter: '20ms' }
  }
  return (await startGateway(t, file, t.testdir(handlers))).url
}

t.test('R122, R123: the official client runs a tool as a task and is asked on the way', async t => {
  const client = new Client(
    { name: 'official', version: '1' },
    { capabilities: { elicitation: { form: {} }, tasks: {} } }
  )
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: { answer: 'Ada' } }))
  // The own types of the SDK do not agree under exactOptionalPropertyTypes.
  await client.connect(new StreamableHTTPClientTransport(new URL(await served(t))) as any)
  t.teardown(() => client.close())
  await client.listTools()
  const seen: string[] = []
  const stream = client.experimental.tasks.callToolStream({ name: 'job', arguments: {} }, CallToolResultSchema)
  for await (const message of stream) {
    seen.push(message.type)
    if (message.type === 'result') t.match(message.result.content, [{ type: 'text', text: 'Hello, Ada' }])
    if (message.type === 'error') t.fail(message.error.message)
  }
  t.equal(seen[0], 'taskCreated')
  t.equal(seen.at(-1), 'result')
})

t.test('R123: tasks/result blocks beyond the limits of a call, and carries what the task asks', async t => {
  const client = await RawClient.open(await served(t), { capabilities: { elicitation: {} } })
  const channel = await client.get()
  const created = await client.request('tools/call', {
    name: 'job',
    arguments: {},
    task: { ttl: 60_000 },
    _meta: { progressToken: 'p' }
  })
  t.equal(created.headers['content-type'], 'application/json', 'at once')
  const { taskId } = created.json.result.task
  const { events } = await client.request('tasks/result', { taskId })
  const ask = await events.message(({ method }) => method === 'elicitation/create')
  t.equal(ask.params._meta['io.modelcontextprotocol/related-task'].taskId, taskId)
  t.match((await client.request('tasks/get', { taskId })).json.result, { status: 'input_required' })
  await new Promise(resolve => setTimeout(resolve, 400))
  t.notOk(events.ended, 'longer than maxTime')
  t.equal((await client.post({ id: ask.id, result: { action: 'accept', content: { answer: 'Bo' } } })).status, 202)
  const { result } = await events.message(message => message.result !== undefined)
  t.match(result, { content: [{ text: 'Hello, Bo' }] })
  const progress = await channel.events.message(({ params }) => params?.progress === 2)
  t.equal(progress.params.progressToken, 'p', 'R127')
  await channel.events.message(({ params }) => params?.status === 'completed')
  channel.destroy()
})

t.test('R126: another session does not find the task', async t => {
  const url = await served(t)
  const [mine, theirs] = [await RawClient.open(url), await RawClient.open(url)]
  const { taskId } = (await mine.request('tools/call', { name: 'job', arguments: {}, task: {} })).json.result.task
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
    t.match((await theirs.request(method, { taskId })).json.error, { code: -32602 }, method)
  }
  t.match((await mine.request('tasks/get', { taskId })).json.result, { taskId })
})
