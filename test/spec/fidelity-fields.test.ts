/**
 * Every field of the lists, reads, gets and results arrives as the server said it, with two clients, behind every kind of
 * backend (R50-R94, R160, R180-R193): what the files hold is what the client gets, to the byte where the client shows bytes.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { connectV1 } from '../e2e/clients/v1.ts'
import { behind, proxied } from '../helpers/behind.ts'
import { startGateway } from '../helpers/gateway.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { Scripted } from '../helpers/scripted.ts'

/** JSON text of a fixture on one line, its tokens as they stand in the file. */
const textOf = (name: string): string =>
  readFileSync(new URL(`../fixtures/fields/${name}.json`, import.meta.url), 'utf8')
    .trim()
    .replaceAll(/\n\s*/g, '')

/** The members of a fixture that holds several: their JSON text. */
function textsOf(name: string): Map<string, string> {
  const text = readFileSync(new URL(`../fixtures/fields/${name}.json`, import.meta.url), 'utf8')
  const members = [...text.matchAll(/^ {2}"([^"]+)": (.*?)(?=,?\n(?: {2}"|\}))/gms)]
  return new Map(members.map(([, key, value]) => [key!, value!.replaceAll(/\n\s*/g, '')]))
}

const tools = textsOf('tool-results')
const reads = new Map([['full', textOf('resource-read')], ...textsOf('odd-reads')])
const prompts = new Map([['full', textOf('prompt-get')], ...textsOf('odd-prompts')])

function serverOf(): Scripted {
  const server = new Scripted()
  server.initializeResult =
    '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{}},' +
    '"serverInfo":{"name":"fields","version":"1"}}'
  for (const list of ['tools', 'resources', 'resources/templates', 'prompts']) {
    const answer = textOf(`${list.replace('resources/', 'resource-').replace('/', '-')}-list`)
    server.on(`${list}/list`, turn => turn.answer(answer))
  }
  for (const [name, result] of tools) server.on(`tools/call:${name}`, turn => turn.answer(result))
  for (const [name, result] of prompts) server.on(`prompts/get:${name}`, turn => turn.answer(result))
  server.on('resources/read', turn => {
    const uri = JSON.parse(String(turn.message.source)).params.uri as string
    turn.answer(reads.get(uri.split('/').at(-1)!)!)
  })
  return server
}

/** What a client got: the value, and the text where it shows that. */
interface Got {
  readonly value: unknown
  readonly text?: string
}

interface Client {
  request(method: string, params: Record<string, unknown>): Promise<Got>
}

const clients: Readonly<Record<string, (t: Test, url: string) => Promise<Client>>> = {
  'SDK v1': async (t, url) => {
    const peer = await connectV1({ url }, { roots: [], sample: '', elicitation: { action: 'cancel' } })
    t.teardown(() => peer.close())
    return { request: async (method, params) => ({ value: await peer.request(method, params) }) }
  },
  'raw, JSON': async (_t, url) => rawOf(await RawClient.open(url), 'application/json'),
  'raw, SSE': async (_t, url) => rawOf(await RawClient.open(url), 'text/event-stream')
}

function rawOf(client: RawClient, accept: string): Client {
  return {
    async request(method, params) {
      const response = await client.post({ id: 1, method, params }, { accept })
      const { events } = response
      const whole = accept.endsWith('json')
        ? response.text
        : (await events.until(({ all }) => all.find(({ message }) => message?.id === 1))).data!
      t.equal(whole.slice(0, 33), '{"jsonrpc":"2.0","id":1,"result":')
      const text = whole.slice(33, -1)
      return { value: JSON.parse(text), text }
    }
  }
}

async function same(
  t: Test,
  client: Client,
  method: string,
  params: Record<string, unknown>,
  expected: string
): Promise<void> {
  const got = await client.request(method, params)
  const what = `${method} ${JSON.stringify(params)}`
  t.strictSame(got.value, JSON.parse(expected), what)
  if (got.text !== undefined) t.equal(got.text, expected, `${what}, the text`)
}

type Flow = (t: Test, client: Client) => Promise<void>

/** R192. */
const flows: Readonly<Record<string, Flow>> = {
  async toolsListAndCall(t, client) {
    await same(t, client, 'tools/list', {}, textOf('tools-list'))
    await same(t, client, 'tools/list', { cursor: 'eyJwYWdlIjogMn0=' }, textOf('tools-list'))
    for (const [name, result] of tools) await same(t, client, 'tools/call', { name, arguments: {} }, result)
  },
  async resourcesListAndRead(t, client) {
    await same(t, client, 'resources/list', {}, textOf('resources-list'))
    for (const [name, result] of reads) await same(t, client, 'resources/read', { uri: `file:///${name}` }, result)
  },
  async resourceTemplatesListAndRead(t, client) {
    await same(t, client, 'resources/templates/list', {}, textOf('resource-templates-list'))
    await same(t, client, 'resources/read', { uri: 'file:///notes/full' }, textOf('resource-read'))
  },
  async promptsListAndGet(t, client) {
    await same(t, client, 'prompts/list', {}, textOf('prompts-list'))
    for (const [name, result] of prompts) await same(t, client, 'prompts/get', { name, arguments: {} }, result)
  }
}

t.test('the fixtures were read whole', async t => {
  t.same([...tools.keys()], Object.keys(JSON.parse(textOf('tool-results'))))
  t.same([...reads.keys()].slice(1), Object.keys(JSON.parse(textOf('odd-reads'))))
  t.same([...prompts.keys()].slice(1), Object.keys(JSON.parse(textOf('odd-prompts'))))
})

for (const kind of proxied) {
  void t.test(`fields through ${kind}`, async t => {
    const { url } = await behind(t, kind, { server: serverOf() })
    for (const [name, connect] of Object.entries(clients)) {
      const client = await connect(t, url)
      for (const [flow, run] of Object.entries(flows)) await t.test(`${flow}, ${name}`, t => run(t, client))
    }
  })
}

/** R182: nothing is added to what a server of 2024-11-05 says. */
t.test('old payloads pass as they are, whatever the client speaks', async t => {
  const old = textsOf('old')
  const server = new Scripted()
  server.initializeResult =
    '{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}'
  for (const [method, result] of old) server.on(method, turn => turn.answer(result))
  const { url } = await behind(t, 'http', { server })
  t.equal(old.size, 8)
  for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    const client = rawOf(await RawClient.open(url, { version }), 'application/json')
    for (const [method, result] of old) await same(t, client, method, { name: 'x', uri: 'file:///a' }, result)
  }
})

/** R78: the code and the data are the server's. */
t.test('an error of the server is told with its code and its data (-32002)', async t => {
  const server = new Scripted()
  server.on('resources/read', turn => turn.refuse(-32002, 'Resource not found', { uri: 'file:///nope', more: null }))
  for (const kind of proxied) {
    const { url } = await behind(t, kind, { server })
    for (const version of ['2024-11-05', '2025-11-25']) {
      const client = await RawClient.open(url, { version })
      const { json, status } = await client.request('resources/read', { uri: 'file:///nope' })
      t.equal(status, 200)
      t.strictSame(json, {
        jsonrpc: '2.0',
        id: 1,
        error: { code: -32002, message: 'Resource not found', data: { uri: 'file:///nope', more: null } }
      })
    }
  }
})

t.test('in-process handlers show the same fields (R193)', async t => {
  const path = fileURLToPath(new URL('../fixtures/fields/handler.ts', import.meta.url))
  const { url } = await startGateway(t, { backends: { local: { kind: 'module', path } } })
  const request = async (client: Client, method: string, params = {}): Promise<any> =>
    (await client.request(method, params)).value
  const listed = (fixture: string, member: string, ...names: string[]): unknown =>
    JSON.parse(textOf(fixture))[member].filter(({ name }: any) => names.includes(name))
  for (const [name, connect] of Object.entries(clients)) {
    const client = await connect(t, url)
    await t.test(name, async t => {
      const { tools: served } = await request(client, 'tools/list')
      t.strictSame(served, listed('tools-list', 'tools', 'full', 'bare', 'one-hint'))
      for (const result of ['full', 'error-with-structure', 'empty']) {
        const got = await request(client, 'tools/call', { name: 'bare', arguments: { result } })
        t.same(got.content, JSON.parse(tools.get(result)!).content, result)
      }
      const { resources } = await request(client, 'resources/list')
      t.strictSame(resources, listed('resources-list', 'resources', 'full', 'bare', 'audience', 'priority'))
      const { resourceTemplates } = await request(client, 'resources/templates/list')
      t.strictSame(resourceTemplates, listed('resource-templates-list', 'resourceTemplates', 'full'))
      for (const uri of ['file:///notes/full.md', 'file:///notes/other.md']) {
        t.strictSame(await request(client, 'resources/read', { uri }), JSON.parse(textOf('resource-read')))
      }
      const { prompts: offered } = await request(client, 'prompts/list')
      t.strictSame(offered, listed('prompts-list', 'prompts', 'full', 'bare'))
      const got = await request(client, 'prompts/get', { name: 'full', arguments: { subject: 's' } })
      t.strictSame(got, JSON.parse(textOf('prompt-get')))
    })
  }
})
