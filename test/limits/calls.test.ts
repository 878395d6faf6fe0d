/** docs/limits.md, "Calls and backends": what is exactly at a bound passes, one more gets what the page says. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startModernHttp } from '../fixtures/modern/http.ts'
import { behind, type Kind, proxied } from '../helpers/behind.ts'
import { startGateway } from '../helpers/gateway.ts'
import { saying, startLegacy } from '../helpers/legacy.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { Scripted } from '../helpers/scripted.ts'
import { fixture } from '../helpers/stdio.ts'
import { until } from '../helpers/until.ts'

for (const kind of proxied as readonly Kind[]) {
  void t.test(
    `server.limits.upstream: ${kind}: a message of as many bytes passes, one more is that call's error`,
    async t => {
      const limit = 4_096
      const server = new Scripted()
      server.on('tools/call:sized', turn => {
        const { size } = JSON.parse(turn.arguments)
        const around = `{"jsonrpc":"2.0","id":${turn.message.id},"result":{"content":[],"x":""}}`
        turn.answer(`{"content":[],"x":"${'x'.repeat(size - around.length)}"}`)
      })
      const { url } = await behind(t, kind, { server, file: { server: { limits: { upstream: `${limit}B` } } } })
      const client = await RawClient.open(url)
      const sized = async (size: number): Promise<any> => {
        const { json, events } = await client.call('sized', { size })
        return json ?? (await events.whole()).messages.at(-1)
      }
      t.match(await sized(limit), { result: { content: [] } })
      t.match(await sized(limit + 1), {
        error: { code: -32603, data: { reason: 'backend_too_large', backend: 'docs' } }
      })
      t.match(await sized(limit), { result: { content: [] } }, 'the session goes on')
    }
  )
}

t.test('backends.<name>.timeout: a backend that says something in time goes on, a silent one is given up', async t => {
  const gateway = await startLegacy(t)
  const { url } = await startGateway(t, {
    backends: { docs: { kind: 'http', url: gateway.upstream.url, timeout: '500ms' } }
  })
  const client = await RawClient.open(url)
  const call = client.call('held', {}, { progressToken: 1 })
  const turn = await gateway.held()
  for (let n = 1; n <= 4; n++) {
    turn.progress(n)
    await sleep(200)
  }
  turn.answer(saying('done'))
  t.match((await (await call).events.whole()).messages.at(-1), { result: {} }, 'longer than the limit in all')

  const began = performance.now()
  const silent = client.call('held')
  const given = await gateway.held()
  t.match((await silent).json, {
    error: { code: -32603, data: { reason: 'timeout', limit: 'timeout', backend: 'docs' } }
  })
  t.ok(performance.now() - began >= 490, 'not before its time')
  await given.cancelled
})

t.test('backends.<name>.maxTime: a call may take so long, and no longer whatever is said', async t => {
  const gateway = await startLegacy(t)
  const { url } = await startGateway(t, {
    backends: { docs: { kind: 'http', url: gateway.upstream.url, maxTime: '700ms' } }
  })
  const client = await RawClient.open(url)
  const quick = client.call('held')
  const first = await gateway.held()
  await sleep(200)
  first.answer(saying('done'))
  t.match((await quick).json, { result: {} })

  const began = performance.now()
  const call = client.call('held', {}, { progressToken: 1 })
  const turn = await gateway.held()
  let n = 0
  const talking = setInterval(() => turn.progress(++n), 50)
  t.teardown(() => clearInterval(talking))
  const { messages } = await (await call).events.whole()
  t.match(messages.at(-1), { error: { data: { reason: 'timeout', limit: 'maxTime', backend: 'docs' } } })
  t.ok(performance.now() - began >= 690, 'not before its time')
  await turn.cancelled
})

t.test('backends.<name>.maxProcesses: as many sessions have one, the next has an error until one is gone', async t => {
  const { url } = await startGateway(t, {
    backends: { files: { kind: 'stdio', command: process.execPath, args: [fixture('server.mjs')], maxProcesses: 2 } }
  })
  const [first] = [await RawClient.open(url), await RawClient.open(url)]
  const over = await t.rejects(RawClient.open(url), /backend_unavailable/)
  t.ok(over)
  t.equal((await first.call('echo')).status, 200)
  await first.delete()
  await until('there is room again', () =>
    RawClient.open(url).then(
      () => true,
      () => false
    )
  )
})

t.test(
  'input.timeout: an answer in time reaches the backend, later it has an error and the client is told',
  async t => {
    const gateway = await startLegacy(t, { file: { input: { timeout: '600ms' } } })
    const client = await gateway.open({ capabilities: { elicitation: {} } })
    const ask = async () => {
      const call = client.call('ask')
      const { events } = await call
      const { id } = await events.message(({ method }) => method === 'elicitation/create')
      return { events, id }
    }
    const quick = await ask()
    await sleep(100)
    t.equal((await client.post({ id: quick.id, result: { action: 'accept', content: {} } })).status, 202)
    t.match((await quick.events.whole()).messages.at(-1).result.content[0].text, /accept/)

    const began = performance.now()
    const late = await ask()
    const { params } = await late.events.message(({ method }) => method === 'notifications/cancelled')
    t.ok(performance.now() - began >= 590, 'not before its time')
    t.equal(params.requestId, late.id)
    const { messages } = await late.events.whole()
    t.match(JSON.parse(messages.at(-1).result.content[0].text), { code: -32603, data: { reason: 'input_timeout' } })
    t.equal((await client.post({ id: late.id, result: { action: 'accept' } })).status, 202, 'too late: dropped')
  }
)

t.test('input.rounds: as many rounds as allowed end well, one more is an error', async t => {
  const server = await startModernHttp()
  t.teardown(server.stop)
  const { url } = await startGateway(t, {
    input: { rounds: 2 },
    backends: { modern: { kind: 'http', url: server.url } }
  })
  const client = await RawClient.open(url, { capabilities: { elicitation: {} } })
  const call = async (rounds: number): Promise<any> => {
    const { events } = await client.call('rounds', { rounds })
    for (let round = 0; round < 2; round++) {
      const asked = await events.message(
        ({ method, params }) => method === 'elicitation/create' && params.message === `Round ${round}`
      )
      await client.post({ id: asked.id, result: { action: 'accept', content: { name: 'x' } } })
    }
    return (await events.whole()).messages.at(-1)
  }
  t.match(await call(2), { result: { content: [{ text: '2 rounds' }] } })
  t.match(await call(3), { error: { code: -32603, data: { reason: 'backend_invalid' } } })
})

t.test('backends.<name>.memory: what fits is kept, what does not ends the thread and its calls alone', async t => {
  const folder = t.testdir({
    'hoard.mjs': `export default {
      name: 'hoard',
      handler: ({ mebibytes }) => String(Array.from({ length: mebibytes }, () => new Array(131_072).fill({})).length)
    }`
  })
  const { url } = await startGateway(t, {
    backends: { local: { kind: 'module', path: folder, worker: true, memory: '64MiB' } }
  })
  const client = await RawClient.open(url)
  t.match((await client.call('hoard', { mebibytes: 16 })).json, { result: { content: [{ text: '16' }] } })
  t.match((await client.call('hoard', { mebibytes: 512 })).json, { error: { data: { reason: 'backend_broke' } } })
  const next = await RawClient.open(url)
  t.match((await next.call('hoard', { mebibytes: 1 })).json, { result: {} })
})
