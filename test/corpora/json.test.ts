/**
 * JSON texts, good and bad (R25; RPC-11, RPC-13; H6, H8, H9; B6). From a client and from a backend, there as a JSON body and as an
 * event: what is JSON passes as the bytes it is, what is not ends in one clear error, and nothing else is harmed.
 */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { bytesOf, corpus, type Entry, fill, titleOf } from '../helpers/corpus.ts'
import { startGateway } from '../helpers/gateway.ts'
import { RawClient, send } from '../helpers/raw-client.ts'

interface Text extends Entry {
  readonly text: string
  readonly place?: 'whole'
  readonly says: 'ok' | 'parse' | 'invalid'
}

const entries = corpus<Text>('json')

t.ok(entries.length >= 200)
for (const says of ['ok', 'parse', 'invalid']) t.ok(entries.some(entry => entry.says === says))

const codes = { parse: -32700, invalid: -32600 }

/** A call, or a result, with the text in it; Latin-1. The text stands as deep in the one as in the other. */
const inCall = ({ text, place }: Text): string =>
  place === 'whole'
    ? fill(text, { id: '7', rest: '"method":"tools/call","params":{"name":"echo"}' })
    : `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"v":${fill(text)}}}}`
const inResult = ({ text, place }: Text, id: string): string =>
  place === 'whole'
    ? fill(text, { id, rest: '"result":{}' })
    : `{"jsonrpc":"2.0","id":${id},"result":{"a":{"v":${fill(text)}}}}`

/** A backend that keeps the last call it got, and answers it as it is told. */
async function startBackend(t: Test) {
  const backend = { url: '', call: undefined as string | undefined, answer: (id: string): Answer => ({ json: ok(id) }) }
  const ok = (id: string): string => `{"jsonrpc":"2.0","id":${id},"result":{}}`
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString('latin1')
    const id = /"id":(\d+)/.exec(body)?.[1]
    if (request.method !== 'POST') return void response.writeHead(405).end()
    if (id === undefined) return void response.writeHead(202).end()
    if (body.includes('"initialize"')) {
      const result = '{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"b","version":"1"}}'
      response.writeHead(200, { 'content-type': 'application/json' })
      return void response.end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`)
    }
    backend.call = body
    const { json, event } = backend.answer(id)
    if (json !== undefined) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(bytesOf(json))
    } else {
      const lines = event!.split(/\r\n|\r|\n/).map(line => `data: ${line}\n`)
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(bytesOf(`${lines.join('')}\n`))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  backend.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  return backend
}

interface Answer {
  readonly json?: string
  readonly event?: string
}

const plain = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}'

t.test('a text passes or is refused, from either side', async t => {
  const backend = await startBackend(t)
  const { url } = await startGateway(t, { backends: { docs: { kind: 'http', url: backend.url } } })
  const client = await RawClient.open(url)
  const post = (body: string) => send(url, { headers: client.headers, body: bytesOf(body) })
  const usual = backend.answer
  for (const entry of entries) {
    await t.test(titleOf(entry), async t => {
      const body = inCall(entry)
      backend.call = undefined
      backend.answer = usual
      const asked = await post(body)
      if (entry.says === 'ok') {
        t.equal(asked.status, 200)
        t.ok(sameButId(backend.call, body), 'the backend gets the bytes that the client sent')
      } else {
        t.equal(asked.status, 400)
        t.match(asked.json, { jsonrpc: '2.0', error: { code: codes[entry.says] } })
        t.equal(backend.call, undefined, 'the backend gets nothing')
      }

      for (const kind of ['json', 'event'] as const) {
        let said = ''
        backend.answer = id => {
          said = inResult(entry, id)
          return { [kind]: said }
        }
        const answered = await post(plain)
        t.equal(answered.status, 200, kind)
        if (entry.says === 'ok') {
          const expected = kind === 'json' ? said : said.replace(/\r\n|\r/g, '\n')
          t.ok(sameButId(latin1(answered.text), expected), `${kind}: the client gets the bytes that the backend sent`)
        } else {
          t.match(
            answered.json,
            { id: 7, error: { code: -32603, data: { reason: /^backend_(invalid|broke)$/ } } },
            kind
          )
        }
      }
      backend.answer = usual
      t.match((await post(plain)).json, { id: 7, result: {} }, 'session and backend go on')
    })
  }
})

const latin1 = (text: string): string => Buffer.from(text).toString('latin1')

/** Both have one id, and the first is the number that the other side gave it. */
const sameButId = (text: string | undefined, other: string): boolean =>
  text?.replace(/"id":\d+/, '"id":0') === other.replace(/"id":\d+/, '"id":0')
