/** The official client of the tasks extension, with that of SDK v2, over servers and handlers whose tools run as tasks. */
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  type CreateTaskSessionFromClientOptions,
  createTaskSessionFromClient,
  resultFromTaskOutcome,
  TaskCancelledError,
  type TaskEnabledSession,
  TaskFailedError
} from '@modelcontextprotocol/ext-tasks/client'
import t, { type Test } from 'tap'
import { nameParam } from '../../src/protocol/named-by.ts'
import { startGateway } from '../helpers/gateway.ts'
import { lastOf } from '../helpers/modern.ts'
import { send } from '../helpers/raw-client.ts'
import { startTaskServer } from '../helpers/task-backends.ts'

type RawDispatch = NonNullable<CreateTaskSessionFromClientOptions['rawDispatch']>

let ids = 0

/** The SDK takes no result that is a task, so that the extension's client sends its requests by itself. */
const dispatchTo =
  (url: string): RawDispatch =>
  async request => {
    const { method, params } = request as { method: string; params: Record<string, unknown> }
    const name = nameParam(method)
    const response = await send(url, {
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(name === undefined ? {} : { 'mcp-name': String(params[name]) })
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++ids, method, params })
    })
    const { result, error } = await lastOf(response)
    return error === undefined ? { kind: 'result', result } : { kind: 'error', error }
  }

async function sessionAt(t: Test, url: string): Promise<TaskEnabledSession> {
  const info = { name: 'tasks', version: '1' }
  const capabilities = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } }
  const client = new Client(info, { versionNegotiation: { mode: { pin: '2026-07-28' } }, capabilities })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  const session = createTaskSessionFromClient(client, {
    endpointId: 'gateway',
    rawDispatch: dispatchTo(url),
    v2RequestFraming: { protocolVersion: '2026-07-28', clientInfo: info, clientCapabilities: capabilities },
    async onInputRequest() {
      return { action: 'accept', content: { confirm: true, name: 'Ada' } } as never
    }
  })
  t.teardown(async () => {
    await session.close()
    await client.close()
  })
  return session
}

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/conformance/${name}.ts`, import.meta.url))
const kinds: Readonly<Record<string, (t: Test) => Promise<object>>> = {
  http: async t => ({ kind: 'http', url: (await startTaskServer(t)).url }),
  stdio: async () => ({ kind: 'stdio', command: process.execPath, args: [fixture('modern'), 'stdio'] }),
  handlers: async () => ({ kind: 'module', path: fixture('module-tasks-handler') }),
  thread: async () => ({ kind: 'module', path: fixture('module-tasks-handler'), worker: true })
}

for (const [kind, backend] of Object.entries(kinds)) {
  for (const several of [false, true]) {
    t.test(`${kind}${several ? ', one of several' : ''}`, async t => {
      const other = { kind: 'module', path: fixture('module-tasks-handler') }
      const backends = { jobs: await backend(t), ...(several ? { other } : {}) }
      const { url } = await startGateway(t, { backends })
      const session = await sessionAt(t, url)
      const call = (name: string, args: Record<string, never | string | number> = {}) =>
        session.callTool(`${several ? 'jobs_' : ''}${name}`, args)
      const settled = async (name: string, args?: Record<string, string | number>) =>
        resultFromTaskOutcome((await (await call(name, args as never)).settle()).outcome)

      t.match(await settled('greet', { name: 'Ada' }), { content: [{ text: 'Hello, Ada!' }] })
      t.match(await settled('slow_compute', { seconds: 0, label: 'x' }), { content: [{ text: 'computed x' }] })
      t.match(await settled('confirm_delete', { filename: 'x' }), { content: [{ text: 'deleted x' }] })
      t.match(await settled('multi_input'), { content: [{ text: 'both are known' }] })
      t.match(await settled('test_tool_with_task'), { content: [{ text: 'Hello, Ada!' }] })
      t.match(await settled('failing_job'), { isError: true, content: [{ text: 'the job failed' }] })
      await t.rejects(settled('protocol_error_job'), TaskFailedError)

      const slow = await call('slow_compute', { seconds: 60, label: 'x' } as never)
      await slow.cancel()
      await t.rejects(
        slow.settle().then(({ outcome }) => resultFromTaskOutcome(outcome)),
        TaskCancelledError
      )
    })
  }
}
