/**
 * Event streams of backends, well and badly made (R194; SSE-03, SSE-05, SSE-06, SSE-11; section 4 of threats), each in one piece, byte
 * by byte, and in uneven pieces: the client sees the same messages and one end, however the stream was cut.
 */
import { once } from 'node:events'
import http, { type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { bytesOf, corpus, type Entry, fill, titleOf } from '../helpers/corpus.ts'
import { startGateway } from '../helpers/gateway.ts'
import { RawClient } from '../helpers/raw-client.ts'

interface Stream extends Entry {
  readonly stream: string
  readonly gets: readonly string[]
  readonly resumes?: readonly { readonly after: string; readonly stream?: string; readonly status?: number }[]
  readonly cuts?: 'whole'
}

const entries = corpus<Stream>('sse')

t.ok(entries.length >= 60)

const note = (data: unknown): string =>
  `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":${JSON.stringify(data)}}}`
const known = new Map<unknown, string>([
  ['note', 'note'],
  ['other', 'other'],
  [0, 'zero'],
  ['\u2028\u2029\u0085', 'separators'],
  ['é€😀', 'characters']
])

type Cut = 'whole' | 'bytes' | 'uneven'

/** A backend that answers a call with the stream it is given, cut as it is told. */
async function startBackend(t: Test) {
  const backend = { url: '', stream: undefined as Stream | undefined, cut: 'whole' as Cut, resumed: 0 }
  let values: Record<string, string> = {}
  const write = async (response: ServerResponse, text: string): Promise<void> => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.socket!.setNoDelay(true)
    const bytes = bytesOf(fill(text, values))
    for (let at = 0, i = 0; at < bytes.length; i++) {
      const size = { whole: bytes.length, bytes: 1, uneven: [3, 1, 17, 2, 64][i % 5]! }[backend.cut]
      response.write(bytes.subarray(at, at + size))
      at += size
      if (backend.cut !== 'whole') await new Promise(resolve => setImmediate(resolve))
    }
    response.end()
  }
  const resume = (response: ServerResponse, id: string): void => {
    const { after, stream, status } = backend.stream!.resumes?.[backend.resumed++] ?? {}
    if (after !== id) response.writeHead(500).end(`asked for ${id}, not for ${after}`)
    else if (stream === undefined) response.writeHead(status!).end()
    else void write(response, stream)
  }
  const server = http.createServer(async (request, response) => {
    response.on('error', () => {})
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const lastEventId = request.headers['last-event-id'] as string | undefined
    if (lastEventId !== undefined) return resume(response, lastEventId)
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString())
    if (method === undefined || id === undefined) return void response.writeHead(202).end()
    if (method !== 'tools/call') {
      const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'b', version: '1' } }
      response.writeHead(200, { 'content-type': 'application/json' })
      return void response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    }
    const rest = `"id":${id},"result":{"n":1}}`
    values = {
      id: `${id}`,
      token: JSON.stringify(params._meta.progressToken),
      rest,
      answer: `{"jsonrpc":"2.0",${rest}`,
      note: note('note'),
      other: note('other')
    }
    await write(response, backend.stream!.stream)
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

function nameOf({ id, method, params, result, error }: any): string {
  if (method === 'notifications/progress') return `progress ${params.progressToken}`
  if (method !== undefined) return known.get(params?.data) ?? method
  if (id !== 1) return `answer to ${id}`
  if (error !== undefined) return error.data?.reason ?? `error ${error.code}`
  return result.n === 1 ? 'answer' : JSON.stringify(result)
}

t.test('every stream gives the client its messages and one end', async t => {
  const backend = await startBackend(t)
  const { url } = await startGateway(t, {
    backends: { docs: { kind: 'http', url: backend.url, breaker: 'off' } },
    server: { limits: { upstream: '64KiB' } }
  })
  const { session } = await RawClient.open(url)
  for (const entry of entries) {
    await t.test(titleOf(entry), async t => {
      for (const cut of entry.cuts === 'whole' ? (['whole'] as const) : (['whole', 'bytes', 'uneven'] as const)) {
        Object.assign(backend, { stream: entry, cut, resumed: 0 })
        const client = Object.assign(new RawClient(url), { session })
        const { json, events } = await client.call('x', {}, { progressToken: 'p' })
        const messages = json === undefined ? (await events.whole()).messages : [json]
        t.strictSame(messages.map(nameOf), entry.gets, cut)
        t.equal(backend.resumed, entry.resumes?.length ?? 0, `asked for again, ${cut}`)
      }
    })
  }
})
