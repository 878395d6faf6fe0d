/** The process with little of what it needs, and its end under load (H7, P1, P4, P5, P6). */
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { endOf } from '../helpers/child.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { saying } from '../helpers/legacy.ts'
import { startProgram } from '../helpers/program.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { contractTools, Scripted, type Turn } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'
import { connect } from '../helpers/wire.ts'

const mebibyte = 1024 ** 2

/** A backend that reads everything, keeps nothing, and answers every request with an empty result. */
async function startSink(t: Test): Promise<string> {
  const server = http.createServer((request, response) => {
    let head = ''
    request.on('data', chunk => {
      if (head.length < 200) head += chunk.toString()
    })
    request.on('end', () => {
      const id = /"id":("?\w+"?)/.exec(head)?.[1]
      if (id === undefined) return void response.writeHead(202).end()
      const result = head.includes('"initialize"')
        ? '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sink","version":"1"}}'
        : '{"content":[]}'
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

t.test('200 bodies at once that would grow twentyfold when parsed, and a heap of 256 MiB (H7, P4)', async t => {
  const url = await startSink(t)
  const program = await startProgram(
    t,
    { backends: { docs: { kind: 'http', url } } },
    { env: { NODE_OPTIONS: '--max-old-space-size=256' } }
  )
  const [client, old] = await Promise.all(
    ['2025-11-25', '2025-03-26'].map(version => RawClient.open(program.url(), { version }))
  )
  const many = `{}${',{}'.repeat(mebibyte / 3 - 100)}`
  const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":[${many}]}}}`
  const batch = `[${many}]`
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? client!.post(call) : old!.post(batch)))
  )
  for (const [i, { status }] of answers.entries()) {
    if (status !== (i % 2 === 0 ? 200 : 400)) t.fail(`answer ${i} is ${status}`)
  }
  t.notOk(program.child.exited(), program.child.output())
  t.equal((await fetch(`${program.adminUrl}/healthz`)).status, 200)
  t.ok((await program.metric('nodejs_heap_size_used_bytes')) < 128 * mebibyte)
})

t.test('a flood that nobody reads, and a heap of 96 MiB: what waits is bounded, others are served (P4)', async t => {
  const server = contractTools(new Scripted())
  const data = 'x'.repeat(10_000)
  server.on('tools/call:pour', async turn => {
    for (let i = 0; i < 3_000; i++) {
      turn.notify('notifications/message', { level: 'info', data })
      if (i % 50 === 0) await new Promise(resolve => setImmediate(resolve))
    }
    turn.answer('{}')
  })
  const upstream = await HttpUpstream.start(server)
  t.teardown(() => upstream.close())
  const program = await startProgram(
    t,
    { backends: { docs: { kind: 'http', url: upstream.url } }, streams: { total: '16MiB' } },
    { env: { NODE_OPTIONS: '--max-old-space-size=96' } }
  )
  const client = await RawClient.open(program.url())
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pour"}}'
  for (let i = 0; i < 10; i++) {
    const wire = await connect(t, program.url())
    wire.socket.pause()
    wire.write(
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: ${client.session}\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`
    )
  }
  await until('the flood is under way', () => server.heardOf('tools/call').length === 10)
  for (let i = 0; i < 20; i++) t.match((await client.call('echo', { i })).json, { result: {} })
  t.notOk(program.child.exited(), program.child.output())
  t.ok((await program.metric('process_resident_memory_bytes')) < 400 * mebibyte)
})

t.test('nothing in the source holds the event loop on purpose (P5)', t => {
  const root = fileURLToPath(new URL('../../src/', import.meta.url))
  for (const file of globSync('**/*.ts', { cwd: root })) {
    const found = /\b(?:exec|execFile|spawn|pbkdf2|scrypt|g?un?zip|inflate|deflate|brotli\w+|zstd\w+)Sync\b/.exec(
      readFileSync(root + file, 'utf8')
    )
    t.equal(found?.[0], undefined, file)
  }
  t.end()
})

t.test('large messages both ways hold the event loop for less than 50 ms (P5)', async t => {
  const server = contractTools(new Scripted())
  const large = `{"content":[{"type":"text","text":"${`${'words '.repeat(12)}\\n`.repeat(270_000)}"}]}`
  server.on('tools/call:big', turn => turn.answer(large))
  const upstream = await HttpUpstream.start(server, { json: false })
  t.teardown(() => upstream.close())
  const program = await startProgram(t, { backends: { docs: { kind: 'http', url: upstream.url } } })
  const client = await RawClient.open(program.url())
  const keys = Array.from({ length: 150_000 }, (_, i) => `"k${i}":[{}]`).join()
  let p99 = Number.POSITIVE_INFINITY
  // Other programs on the machine can only make it longer.
  for (let tries = 0; tries < 2 && p99 >= 0.05; tries++) {
    await program.metric('nodejs_eventloop_lag_p99_seconds')
    for (let i = 0; i < 5; i++) {
      await client.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{${keys}}}}`)
    }
    const { events, json } = await client.call('big')
    if (json === undefined) await events.message(({ id }) => id === client.lastId, 20_000)
    p99 = await program.metric('nodejs_eventloop_lag_p99_seconds')
  }
  // The figure of the case wants a machine with nothing else to do; anywhere else this only finds what blocks for long.
  t.ok(p99 < (process.env.CAUSEWAY_LONG === undefined ? 0.5 : 0.05), `p99 ${p99} s`)
})

t.test('no file descriptors left: no crash, and service again as soon as there are some (P6)', async t => {
  const url = await startSink(t)
  const program = await startProgram(
    t,
    { backends: { docs: { kind: 'http', url } }, sessions: { perAddress: 10_000 } },
    { files: 128 }
  )
  const client = await RawClient.open(program.url())
  const { port } = new URL(program.url())
  const flood = Array.from({ length: 400 }, () => {
    const socket = net.connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    return socket
  })
  t.teardown(() => flood.forEach(socket => void socket.destroy()))
  await Promise.all(flood.map(socket => Promise.race([once(socket, 'connect'), once(socket, 'close')])))
  await until('those for whom there is no room are let go', () => flood.filter(({ closed }) => closed).length > 200)
  t.notOk(program.child.exited(), program.child.output())
  const open = flood.filter(({ closed }) => !closed)
  const call = '{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"x"}}'
  let answer = ''
  const [one] = open as [net.Socket]
  one.on('data', chunk => {
    answer += chunk
  })
  one.write(
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: ${client.session}\r\n` +
      `Content-Length: ${call.length}\r\n\r\n${call}`
  )
  await until('who is connected gets an answer, or an error of the backend', () => answer.includes('"id":"x"'))
  for (const socket of flood) socket.destroy()
  await until('it serves again', async () => {
    const { status } = await client.call('x').catch(() => ({ status: 0 }))
    return status === 200
  })
  t.equal((await fetch(`${program.adminUrl}/healthz`)).status, 200)
})

t.test('SIGTERM with 200 calls in flight and 200 streams: no call is lost, exit 0 in time (P1)', async t => {
  const turns: Turn[] = []
  const server = new Scripted().on('tools/call:held', turn => void turns.push(turn))
  const upstream = await HttpUpstream.start(server)
  t.teardown(() => upstream.close())
  const program = await startProgram(t, {
    backends: { docs: { kind: 'http', url: upstream.url } },
    server: { shutdown: { deadline: '10s' } },
    streams: { sseAfter: '200ms' }
  })
  const clients = await Promise.all(Array.from({ length: 200 }, () => RawClient.open(program.url())))
  const channels = await Promise.all(clients.map(client => client.get()))
  const calls = clients.map(client => client.call('held'))
  await until('all run', () => turns.length === 200, 20_000)
  await Promise.all(calls.slice(0, 100))
  program.child.kill('SIGTERM')
  for (const { events } of channels) await events.whole(10_000)
  t.ok(channels.every(({ events }) => (events.all.at(-1)?.retry ?? 0) >= 5_000))
  for (const turn of turns) turn.answer(saying('done'))
  const results = await Promise.all(
    calls.map(async call => {
      const { json, events } = await call
      return json ?? (await events.message(({ id }) => id !== undefined))
    })
  )
  t.equal(results.filter(({ result }) => result?.content[0].text === 'done').length, 200)
  t.equal(await endOf(program.child, 10_000), 0)
})
