/** What the gateway does not own passes byte for byte, both ways, over every transport that proxies (RPC-06, MUX-08, R61, R94, R183, R184, R195). */
import t from 'tap'
import { type Message, textParam } from '../../src/protocol/message.ts'
import { bytes } from '../../src/protocol/write.ts'
import { behind, proxied } from '../helpers/behind.ts'
import { RawClient, type RawResponse } from '../helpers/raw-client.ts'
import { oddResult, Scripted } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'

/** What a parser, or one that writes anew, would change: digits, signs, fractions, escapes, order, spaces, repeated members, null, empty. */
const odd =
  '{"z":9007199254740993,"a":-0,"one":1.0,"e":1e400,"E":1E-7,"long":0.1000000000000000055,"text":"\\u0041\\/\\ud83d\\ude00\u2028",' +
  '"10":1,"2":2,"null":null,"none":[],"empty":{},"x/future":{"deep":[[{"v": 1.50 }]]},"blank":"","__proto__":{"p":1}}'

/** Twice the same member: refused in what the gateway decides on, and no business of its elsewhere (RPC-13). */
const twice = odd.replace('"blank"', '"same":1,"same":2,"blank"')

const heardOf = (server: Scripted, method: string): Message => server.heardOf(method).at(-1)!

/** The text of the message with this id, or of this method: as the body, or as the data of an event. */
async function received(response: RawResponse, has: string): Promise<string> {
  if (response.headers['content-type'] === 'application/json') return response.text
  const event = await response.events.until(({ all }) => all.find(({ data }) => data?.includes(has)))
  return event.data!
}

const json = { accept: 'application/json' }
const sse = { accept: 'text/event-stream' }

for (const kind of proxied) {
  void t.test(kind, async t => {
    const server = new Scripted()
    server.initializeResult =
      `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{},"x":${odd}},` +
      `"serverInfo":{"name":"s","version":"1","icons":[]},"_meta":${odd},"zz":1.0}`
    server.on('tools/call:odd', turn => turn.answer(oddResult))
    server.on('tools/call:refuse', turn =>
      turn.raw(
        `{"jsonrpc":"2.0","id":${turn.message.id},"error":{"code":-32042,"message":"no","data":${twice},"more":1.0}}`
      )
    )
    server.on('tools/call:say', async turn => {
      turn.raw(
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${turn.token},"progress":1.0,"total":1e2,"_meta":${odd}}}`
      )
      turn.raw(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":${odd},"zz":1}}`)
      turn.raw(`{"jsonrpc":"2.0","method":"x/vendor","params":${odd},"top":1.0}`)
      turn.answer(`{"content":[]}`)
    })
    server.on('tools/call:ask', turn => {
      turn.raw(
        `{"jsonrpc":"2.0","id":"ask-7","method":"elicitation/create","params":{"message":"\\u0041","requestedSchema":${twice}}}`
      )
    })
    const { url } = await behind(t, kind, { server })
    const capabilities = `{"elicitation":{},"roots":{},"experimental":${odd}}`
    const client = await open(url, capabilities)

    t.test('the InitializeResult, but for the version', async t => {
      const { text } = await initialize(url, capabilities, '2025-06-18')
      t.equal(
        text,
        `{"jsonrpc":"2.0","id":"i","result":${server.initializeResult.replace('2025-11-25', '2025-06-18')}}`
      )
    })

    t.test('what the client said of itself (R4)', async t => {
      const heard = server.heardOf('initialize')[0]!
      if (kind === 'stdio shared') t.equal(textParam(heard, 'capabilities'), '{}')
      else {
        t.equal(textParam(heard, 'capabilities'), capabilities)
        t.equal(textParam(heard, 'clientInfo'), `{"name":"n","version":"1","description":"d","x":${odd}}`)
      }
    })

    for (const accept of [json, sse]) {
      t.test(`arguments and results, with ${accept.accept} (RPC-06)`, async t => {
        const sent = `{"method":"tools/call","id":"\\u0041","zz":${odd},"params":{"name":"odd","arguments":${twice},"_meta":${odd},"future":${odd}},"jsonrpc":"2.0"}`
        const response = await client.post(sent, accept)
        const heard = heardOf(server, 'tools/call')
        t.equal(String(bytes(heard)), sent.replace('"\\u0041","zz"', `${heard.id},"zz"`))
        t.equal(await received(response, 'result'), `{"jsonrpc":"2.0","id":"\\u0041","result":${oddResult}}`)
      })

      t.test(`an error with its data, with ${accept.accept}`, async t => {
        const response = await client.post(
          '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"refuse"}}',
          accept
        )
        t.equal(
          await received(response, 'error'),
          `{"jsonrpc":"2.0","id":5,"error":{"code":-32042,"message":"no","data":${twice},"more":1.0}}`
        )
      })
    }

    t.test('spaces and line ends between tokens', async t => {
      const sent =
        '{ "jsonrpc" :\t"2.0",\r\n "id": 1.0 , "method":"tools/call",\n"params" :{"name": "odd" ,"arguments":{\n"a" : 1.0}} }'
      t.equal((await client.post(sent)).status, 400, 'an id is no fraction')
      await client.post(sent.replace('1.0 ,', '1 ,'))
      const heard = heardOf(server, 'tools/call')
      const whole = sent.replace('1.0 ,', `${heard.id} ,`)
      t.equal(String(bytes(heard)), kind.startsWith('stdio') ? whole.replaceAll(/[\r\n]/g, ' ') : whole)
    })

    t.test('progress, logs and notifications that nobody knows, on the stream of their call', async t => {
      const { events } = await client.post(
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"say","_meta":{"progressToken":"\\u0061"}}}'
      )
      await events.message(({ id }) => id === 3)
      const said = events.all.map(({ data }) => data!).filter(data => data.includes('"method"'))
      const log = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":${odd},"zz":1}}`
      const vendor = `{"jsonrpc":"2.0","method":"x/vendor","params":${odd},"top":1.0}`
      const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"\\u0061","progress":1.0,"total":1e2,"_meta":${odd}}}`
      if (kind === 'http') t.same(said, [progress, log, vendor])
      // Logs of a shared upstream pass from `warning` up, and what names no call is of the whole conversation.
      else t.same(said, kind === 'stdio shared' ? [progress] : [progress, log])
    })

    if (kind !== 'stdio shared') {
      t.test('requests of the upstream, but for their id, and what they are answered with', async t => {
        const { events } = await client.post({ id: 'asks', method: 'tools/call', params: { name: 'ask' } })
        const { data } = await events.until(({ all }) => all.find(({ message }) => message?.method !== undefined))
        const id = /^\{"jsonrpc":"2.0","id":("[^"]+")/.exec(data!)![1]!
        t.equal(
          data,
          `{"jsonrpc":"2.0","id":${id},"method":"elicitation/create","params":{"message":"\\u0041","requestedSchema":${twice}}}`
        )
        const answer = `{"result":{"action":"accept","content":${twice},"zz":1.0},"id":${id},"jsonrpc":"2.0"}`
        t.equal((await client.post(answer)).status, 202)
        await until('the answer upstream', () => server.heard.some(({ kind }) => kind === 'response'))
        t.equal(String(bytes(server.heard.findLast(({ kind }) => kind === 'response')!)), answer.replace(id, '"ask-7"'))
        await client.post({ method: 'notifications/cancelled', params: { requestId: 'asks' } })
        await events.whole()
      })

      t.test('notifications of the client', async t => {
        const sent = `{"method":"notifications/x-vendor","params":${odd},"jsonrpc":"2.0","top":1.0}`
        t.equal((await client.post(sent)).status, 202)
        await until('the notification', () => server.heardOf('notifications/x-vendor').length > 0)
        t.equal(String(bytes(heardOf(server, 'notifications/x-vendor'))), sent)
      })
    }

    t.test('what belongs to no call, on the channel', async t => {
      const { events } = await client.get()
      const text = `{"jsonrpc":"2.0","method":"notifications/x-vendor","params":${odd},"top":1.0}`
      await until('somebody listens', () => server.outside(text))
      const event = await events.until(({ all }) => all.find(({ data }) => data?.includes('x-vendor')))
      t.equal(event.data, text)
    })

    t.test('8 MiB of base64 (R90)', { timeout: 20_000 }, async t => {
      const data = 'AAAA'.repeat(2 * 1024 * 1024)
      const result = `{"content":[{"type":"audio","data":"${data}","mimeType":"audio/wav"}],"n":1.0}`
      server.on('tools/call:large', turn => turn.answer(result))
      for (const accept of [json, sse]) {
        const response = await client.post(
          '{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"large"}}',
          accept
        )
        t.ok((await received(response, 'result')) === `{"jsonrpc":"2.0","id":6,"result":${result}}`)
      }
    })
  })
}

const initialize = (url: string, capabilities: string, version: string): Promise<RawResponse> =>
  new RawClient(url).post(
    `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"${version}","capabilities":${capabilities},` +
      `"clientInfo":{"name":"n","version":"1","description":"d","x":${odd}}}}`
  )

async function open(url: string, capabilities: string): Promise<RawClient> {
  const client = new RawClient(url)
  const { headers } = await initialize(url, capabilities, '2025-11-25')
  client.session = headers['mcp-session-id'] as string
  await client.post({ method: 'notifications/initialized' })
  return client
}
