/** Headers of modern requests, and which tools need which (2026-07-28 basic/transports/streamable-http, "Request Metadata"). */
import t, { type Test } from 'tap'
import { anonymous } from '../../../src/auth/principal.ts'
import type { Link } from '../../../src/backends/backend.ts'
import { HttpBackend } from '../../../src/backends/http/backend.ts'
import { withParam } from '../../../src/protocol/edit.ts'
import { makeRequest } from '../../../src/protocol/make.ts'
import type { Message } from '../../../src/protocol/message.ts'
import { value } from '../../../src/protocol/write.ts'
import { facts } from '../../../src/telemetry/events.ts'
import {
  type Answering,
  type Asked,
  modern,
  refusal,
  result,
  type Said,
  startAnswering
} from '../../helpers/answering.ts'

const tool = (name: string, properties: object, more: object = {}) => ({
  name,
  inputSchema: { type: 'object', properties },
  ...more
})

const region = tool('query', { region: { type: 'string', 'x-mcp-header': 'Region' }, sql: { type: 'string' } })

async function on(t: Test, tools: () => unknown[], calls: (asked: Asked) => Said = asked => result(asked, {})) {
  const upstream = await startAnswering(
    t,
    modern(asked => (asked.method === 'tools/list' ? result(asked, { tools: tools() }) : calls(asked)))
  )
  const backend = new HttpBackend({
    name: 'docs',
    url: upstream.url,
    era: 'modern',
    headers: { 'x-key': 'k' },
    timeout: 2_000
  })
  t.teardown(() => backend.close())
  const link = await backend.open({
    principal: anonymous,
    client: { version: '2025-11-25', capabilities: '{}', info: '{"name":"c","version":"1"}' },
    signal: new AbortController().signal,
    receive: () => {},
    ended: () => {}
  })
  return { upstream, link }
}

const ask = async (link: Link, request: Message): Promise<Message> => {
  for await (const message of link.exchange(request, { principal: anonymous }))
    if (message.kind === 'response') return message
  throw new Error('no response')
}

const call = (link: Link, name: string, args: unknown): Promise<Message> =>
  ask(link, makeRequest('1', 'tools/call', { name, arguments: args }))

const last = (upstream: Answering): Asked => upstream.asked.at(-1)!

t.test('method and name are mirrored, encoded where they have to be, beside the configured headers', async t => {
  const { upstream, link } = await on(t, () => [])
  const cases: [string, object, string | undefined][] = [
    ['tools/call', { name: 'echo' }, 'echo'],
    ['tools/call', { name: 'größe' }, '=?base64?Z3LDtsOfZQ==?='],
    ['prompts/get', { name: ' p' }, '=?base64?IHA=?='],
    ['resources/read', { uri: 'file:///a b' }, 'file:///a b'],
    ['tasks/get', { taskId: '7' }, '7'],
    ['completion/complete', { name: 'no' }, undefined],
    ['com.example/x', { name: 'no' }, undefined]
  ]
  for (const [method, params, name] of cases) {
    await ask(link, makeRequest('1', method, params))
    const { headers } = last(upstream)
    t.match(headers, { 'mcp-method': method, 'mcp-protocol-version': '2026-07-28', 'x-key': 'k' })
    t.equal(headers['mcp-name'], name)
  }
})

t.test('what is mirrored is what is sent, not what came', async t => {
  const { upstream, link } = await on(t, () => [])
  await ask(link, withParam(makeRequest('1', 'tools/call', { name: 'shown' }), 'name', '"own"'))
  t.equal(last(upstream).body.params.name, 'own')
  t.equal(last(upstream).headers['mcp-name'], 'own')
})

t.test('a tool that was never listed is looked up first, once; then its arguments are mirrored', async t => {
  const { upstream, link } = await on(t, () => [
    region,
    tool('deep', {
      at: { type: 'object', properties: { n: { type: 'integer', 'x-mcp-header': 'N' } } },
      on: { type: 'boolean', 'x-mcp-header': 'On' }
    })
  ])
  await Promise.all([call(link, 'query', { region: 'eu', sql: 'x' }), call(link, 'query', { region: 'zürich' })])
  const sent = upstream.asked.filter(({ method }) => method === 'tools/call')
  t.same(sent.map(({ headers }) => headers['mcp-param-region']).sort(), ['=?base64?esO8cmljaA==?=', 'eu'])
  await call(link, 'deep', { at: { n: 42 }, on: false })
  t.match(last(upstream).headers, { 'mcp-param-n': '42', 'mcp-param-on': 'false' })
  await call(link, 'deep', { at: { n: null } })
  t.equal(last(upstream).headers['mcp-param-n'], undefined)
  t.equal(last(upstream).headers['mcp-param-on'], undefined)
  await call(link, 'unknown', { region: 'eu' })
  t.equal(last(upstream).headers['mcp-param-region'], undefined)
  t.equal(upstream.methods().filter(method => method === 'tools/list').length, 1)
})

t.test('a list that comes by is learnt from', async t => {
  const { upstream, link } = await on(t, () => [region])
  await ask(link, makeRequest('1', 'tools/list'))
  await call(link, 'query', { region: 'eu' })
  t.equal(last(upstream).headers['mcp-param-region'], 'eu')
  t.same(upstream.methods(), ['server/discover', 'tools/list', 'tools/call'])
})

t.test('pages of a list are followed', async t => {
  const pages: Record<string, object> = {
    first: { tools: [], nextCursor: 'second' },
    second: { tools: [region] }
  }
  const { upstream, link } = await on(t, () => [])
  upstream.answer = modern(asked =>
    asked.method === 'tools/list' ? result(asked, pages[asked.body.params.cursor ?? 'first']) : result(asked, {})
  )
  await call(link, 'query', { region: 'eu' })
  t.equal(last(upstream).headers['mcp-param-region'], 'eu')
})

t.test('a list that cannot be read holds no call up', async t => {
  const { upstream, link } = await on(t, () => [])
  upstream.answer = modern(asked => (asked.method === 'tools/list' ? { status: 500 } : result(asked, {})))
  await call(link, 'query', {})
  await call(link, 'query', {})
  t.same(upstream.methods(), ['server/discover', 'tools/list', 'tools/call', 'tools/call'])
})

t.test('-32020: the list is read once more, and the call sent again', async t => {
  let tools: unknown[] = []
  const { upstream, link } = await on(
    t,
    () => tools,
    asked => (asked.headers['mcp-param-region'] === 'eu' ? result(asked, { ok: 1 }) : refusal(asked, 400, -32020))
  )
  await ask(link, makeRequest('1', 'tools/list'))
  tools = [region]
  t.match(value(await call(link, 'query', { region: 'eu' })), { id: 1, result: { ok: 1 } })
  t.same(upstream.methods(), ['server/discover', 'tools/list', 'tools/call', 'tools/list', 'tools/call'])
  tools = []
  await t.rejects(call(link, 'query', {}), { code: 'backend_invalid', message: /headers/ })
  t.equal(upstream.methods().filter(method => method === 'tools/call').length, 4, 'no third time')
})

t.test('tools with annotations that are not valid are left out of the list, and logged once', async t => {
  const notices: string[] = []
  const listen = ({ text }: { text: string }): void => void notices.push(text)
  t.teardown(facts.notice.subscribe(listen))
  const bad = tool('bad', { a: { type: 'number', 'x-mcp-header': 'A' } })
  const { link } = await on(t, () => [
    bad,
    region,
    tool('plain', {}),
    tool('worse', { a: { type: 'string', 'x-mcp-header': 'a b' } })
  ])
  for (let i = 0; i < 2; i++) {
    const { result } = value(await ask(link, makeRequest('1', 'tools/list'))) as {
      result: { tools: { name: string }[] }
    }
    t.same(
      result.tools.map(({ name }) => name),
      ['query', 'plain']
    )
  }
  const told = notices.filter(text => text.includes('left out'))
  t.equal(told.length, 2)
  t.match(told[0], /"bad" is left out/)
})
