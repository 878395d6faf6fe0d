/** All bodies together are bounded, not only each (H7). */
import t from 'tap'
import { isRefusal, startEdge } from '../helpers/edge.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { until } from '../helpers/until.ts'
import { connect, type Wire } from '../helpers/wire.ts'

const kibibyte = 1024
const limit = 16 * kibibyte
const most = 64

t.test('bodies that are announced: those beyond the bound are 503, until others are done (H7)', async t => {
  const { url, server } = await startEdge(t, { server: { limits: { body: '16KiB' } } })
  const client = await RawClient.open(url)
  const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${limit}\r\n\r\n{`
  const slow: Wire[] = []
  for (let i = 0; i < most; i++) {
    const wire = await connect(t, url)
    wire.write(head)
    slow.push(wire)
  }
  await until('all of it is taken', async () => (await client.request('ping')).status === 503)
  const heard = server.heard.length
  const refused = await client.call('echo')
  isRefusal(t, refused, 503, -32603)
  t.equal(refused.headers['retry-after'], '1')
  t.equal(refused.headers.connection, 'close')
  t.equal(refused.json.error.data.reason, 'overloaded')
  t.equal(server.heard.length, heard)
  t.equal((await client.get()).status, 200, 'what has no body is served')
  t.equal((await client.post({ id: 1, method: 'x', params: { pad: 'x'.repeat(2 * limit) } })).status, 413)
  slow[0]!.socket.destroy()
  await until('there is room again', async () => (await client.request('ping')).status === 200)
  for (let i = 0; i < 200; i++)
    t.equal((await client.request('ping')).status, 200, 'bodies that are done count no more')
})

t.test('bodies without a length count as they come: the one that is too much is cut (H7)', async t => {
  const { url } = await startEdge(t, { server: { limits: { body: '16KiB' } } })
  const client = await RawClient.open(url)
  const head =
    'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
  const chunk = `3800\r\n${' '.repeat(0x3800)}\r\n`
  const wires: Wire[] = []
  for (let i = 0; i < most + 10; i++) {
    const wire = await connect(t, url)
    wire.write(head + chunk)
    wires.push(wire)
  }
  // 14 KiB of each: 73 of them fit.
  await until('one is cut', () => wires.some(({ closed, ended }) => closed || ended))
  await until('the others are not', () => wires.filter(({ closed, ended }) => closed || ended).length < 4)
  for (const { socket } of wires) socket.destroy()
  await until('there is room again', async () => (await client.request('ping')).status === 200)
})
