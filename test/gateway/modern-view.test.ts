import t from 'tap'
import { forModern } from '../../src/gateway/modern-view.ts'
import { type Message, readMessage } from '../../src/protocol/message.ts'
import { bytes } from '../../src/protocol/write.ts'

const messageOf = (text: string): Message => readMessage(Buffer.from(text), 100)

const request = (method: string, meta: object = {}): Message => {
  const _meta = { 'io.modelcontextprotocol/clientCapabilities': {}, ...meta }
  return messageOf(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta } }))
}

const server = '{"name":"s","version":"1"}'
const answering = { server, hint: () => ({ ttlMs: 0, shared: false }), task: (id: string) => id }
const from = `"io.modelcontextprotocol/serverInfo":${server}`

/** JSON text of the result that a result becomes. */
function seen(result: string, method = 'tools/call', meta?: object): string {
  const message = forModern(messageOf(`{"jsonrpc":"2.0","id":1,"result":${result}}`), request(method, meta), answering)
  const text = bytes(message!).toString()
  JSON.parse(text)
  return text.slice('{"jsonrpc":"2.0","id":1,'.length, -1).replace('"result":', '')
}

t.test('results say what they are and who answered; the rest is as it was', async t => {
  t.equal(seen('{"content":[],"x":1.0}'), `{"resultType":"complete","_meta":{${from}},"content":[],"x":1.0}`)
  t.equal(seen('{ }'), `{"resultType":"complete","_meta":{${from}} }`)
  t.equal(seen('{"_meta":{"a":1},"b":2}'), `{"resultType":"complete","_meta":{${from},"a":1},"b":2}`)
  t.equal(seen('{"_meta":{ }}'), `{"resultType":"complete","_meta":{${from} }}`)
  const whole = '{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"own"}}}'
  t.equal(seen(whole), whole, 'a backend of the revision says it itself')
})

for (const method of [
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read'
]) {
  t.test(`a result of ${method} says how long it may be kept (server/utilities/caching)`, async t => {
    const meta = `"_meta":{${from}}`
    t.equal(seen(`{${meta}}`, method), `{"resultType":"complete","ttlMs":0,"cacheScope":"private",${meta}}`)
    const own = `{"ttlMs":60000,"cacheScope":"public","resultType":"complete",${meta}}`
    t.equal(seen(own, method), own)
    t.equal(
      seen(`{"ttlMs":-1,"cacheScope":"all",${meta}}`, method),
      `{"resultType":"complete","ttlMs":0,"cacheScope":"private",${meta}}`
    )
    t.equal(seen(`{"ttlMs":"1",${meta}}`, method), `{"resultType":"complete","cacheScope":"private","ttlMs":0,${meta}}`)
  })
}

t.test('what is not complete says nothing of that (MRT-03)', async t => {
  const asked = `{"resultType":"input_required","requestState":"s","_meta":{${from}}}`
  t.equal(seen(asked, 'resources/read'), asked)
  for (const hints of ['"ttlMs":1,"cacheScope":"public"', '"cacheScope":"public","x":1.0,"ttlMs":1', '"ttlMs":1']) {
    const bare = hints.includes('"x"') ? '"x":1.0,' : ''
    const rest = '"resultType":"input_required","requestState":"s"'
    t.equal(
      seen(`{${rest},"_meta":{${from}},${hints}}`, 'resources/read'),
      `{${rest},"_meta":{${from}}${bare === '' ? '' : ',"x":1.0'}}`
    )
    t.equal(seen(`{${hints},${rest},"_meta":{${from}}}`, 'resources/read'), `{${bare}${rest},"_meta":{${from}}}`)
  }
})

t.test('types of results are those that the request knows', async t => {
  const task = `{"resultType":"task","_meta":{${from}}}`
  t.match(seen(task), /"error":\{"code":-32603/)
  const declared = {
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } }
  }
  t.equal(seen(task, 'tools/call', declared), task)
  t.match(seen(`{"resultType":"input_required","requestState":"s"}`, 'tools/list'), /"code":-32603/)
  t.match(seen('[]'), /"code":-32603/)
})

t.test('errors of a range that is kept for the specification are translated, others pass as they are', async t => {
  const told = (error: string): string => {
    const message = messageOf(`{"jsonrpc":"2.0","id":1,"error":${error}}`)
    return bytes(forModern(message, request('resources/read'), answering)!)
      .toString()
      .slice(23, -1)
  }
  const own = ',"error":{"code":-32021,"message":"m","data":{"requiredCapabilities":{"roots":{}}}}'
  t.equal(told(own.slice(9)), own)
  t.equal(
    told('{"code":-32002,"message":"m","data":{"uri":"a:b"}}'),
    ',"error":{"code":-32602,"message":"m","data":{"uri":"a:b"}}'
  )
  t.equal(told('{"code":-32099}'), ',"error":{"code":-32603,"message":"the backend answered with an error"}')
  for (const code of [-32020, -32022]) t.match(told(`{"code":${code},"message":"m"}`), /"code":-32603,"message":"m"/)
  t.equal(told('{"code":-32000,"message":"m"}'), ',"error":{"code":-32000,"message":"m"}')
})

t.test('of notifications those pass that have to do with the request', async t => {
  const passes = (method: string, params: object, meta: object = {}): boolean =>
    forModern(messageOf(JSON.stringify({ jsonrpc: '2.0', method, params })), request('tools/call', meta), answering) !==
    undefined
  t.ok(passes('notifications/progress', { progressToken: 'a' }, { progressToken: 'a' }))
  t.notOk(passes('notifications/progress', { progressToken: '1' }, { progressToken: 1 }))
  t.notOk(passes('notifications/progress', { progressToken: 1 }))
  const level = (level: string) => ({ 'io.modelcontextprotocol/logLevel': level })
  t.ok(passes('notifications/message', { level: 'error' }, level('warning')))
  t.notOk(passes('notifications/message', { level: 'info' }, level('warning')))
  t.notOk(passes('notifications/message', { level: 'emergency' }))
  for (const kind of ['tools', 'prompts', 'resources']) t.notOk(passes(`notifications/${kind}/list_changed`, {}))
  for (const method of ['resources/updated', 'cancelled', 'elicitation/complete', 'tasks/status']) {
    t.notOk(passes(`notifications/${method}`, {}))
  }
  t.ok(passes('notifications/vendor/thing', {}))
})

t.test('requests never come on the stream of an exchange', async t => {
  t.equal(
    forModern(messageOf('{"jsonrpc":"2.0","id":1,"method":"roots/list"}'), request('tools/call'), answering),
    undefined
  )
})

t.test('a result that is a task is one to who declared the extension alone', t => {
  const declaring = (...extensions: string[]) => ({
    'io.modelcontextprotocol/clientCapabilities': { extensions: Object.fromEntries(extensions.map(name => [name, {}])) }
  })
  const created = `{"resultType":"task","taskId":"x","status":"working","_meta":{${from}}}`
  t.equal(seen(created, 'tools/call', declaring('io.modelcontextprotocol/tasks')), created)
  for (const meta of [{}, declaring('com.example/x')]) {
    t.match(seen(created, 'tools/call', meta), /^"error":\{"code":-32603/)
  }
  t.end()
})

t.test('ids of tasks are what their holder calls them, wherever they stand', t => {
  const task = (id: string, isNew: boolean) => `${isNew ? 'new' : 'old'}"${id}`
  const related = (id: string) => `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"${id}"},${from}}`
  const at = (method: string, result: string): string => {
    const meta = {
      'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } }
    }
    const message = forModern(messageOf(`{"jsonrpc":"2.0","id":1,"result":${result}}`), request(method, meta), {
      ...answering,
      task
    })
    return bytes(message!).toString()
  }
  t.match(at('tools/call', `{"resultType":"task","taskId":"x","_meta":{${from}}}`), '"taskId":"new\\"x"')
  const got = `{"resultType":"complete","taskId":"x",${related('x')},"result":{${related('y')},"taskId":"z"}}`
  const ids = [...at('tasks/get', got).matchAll(/"taskId":("(?:[^"\\]|\\.)*")/g)].map(([, id]) => JSON.parse(id!))
  t.same(ids, ['old"x', 'old"x', 'old"y', 'z'])
  const plain = `{"resultType":"complete","taskId":"x",${related('x')}}`
  t.notMatch(at('tools/call', plain), /old|new/, 'a result that is no task has no ids of tasks')
  t.end()
})

t.test('tools are listed without what they are as legacy tasks', t => {
  const list = (tools: string) => seen(`{"tools":${tools}}`, 'tools/list')
  const tool = (rest: string) => `{"name":"a",${rest}"inputSchema":{}}`
  const of = (rest: string) => JSON.parse(list(`[${tool(rest)}]`)).tools[0]
  t.same(of('"execution":{"taskSupport":"optional"},'), { name: 'a', inputSchema: {} })
  t.same(of('"execution":{"taskSupport":"optional","x":1},'), { name: 'a', execution: { x: 1 }, inputSchema: {} })
  for (const other of ['"execution":{"x":"taskSupport"},', '"execution":"taskSupport",', '"x":{"taskSupport":1},']) {
    t.same(of(other), JSON.parse(tool(other)))
  }
  t.match(list('"taskSupport"'), '"tools":"taskSupport"')
  t.end()
})
