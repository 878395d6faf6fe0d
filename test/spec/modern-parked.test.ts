/** A thousand calls that wait for their clients at one backend, and what becomes of those who answer, lie, or never come back. */
import t from 'tap'
import { startGateway } from '../helpers/gateway.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { lastOf, ModernClient } from '../helpers/modern.ts'
import { children } from '../helpers/processes.ts'
import { Scripted } from '../helpers/scripted.ts'
import { stdioUpstream } from '../helpers/stdio-upstream.ts'
import { until } from '../helpers/until.ts'

const parked = 1_000

t.test(`${parked} parked calls, answered in any order: each result goes to its owner, nothing is left`, async t => {
  const server = new Scripted()
  server.on('tools/list', turn => turn.answer('{"tools":[]}'))
  let cancelled = 0
  server.on('tools/call:whose', async turn => {
    void turn.cancelled.then(() => cancelled++)
    const { result } = await turn.ask('elicitation/create', { message: 'whose?', requestedSchema: {} })
    turn.answer(JSON.stringify({ content: [{ type: 'text', text: JSON.stringify([turn.arguments, result]) }] }))
  })
  const upstream = await HttpUpstream.start(server)
  t.teardown(() => upstream.close())
  const { url, gateway } = await startGateway(t, { backends: { docs: { kind: 'http', url: upstream.url } } })
  const client = new ModernClient(url, { capabilities: { elicitation: {} } })
  const states = new Map<number, string>()
  const ask = async (owner: number): Promise<void> => {
    const { result } = await lastOf(await client.call('whose', { owner }))
    states.set(owner, result.requestState)
  }
  const owners = Array.from({ length: parked }, (_, i) => i)
  for (let i = 0; i < parked; i += 50) await Promise.all(owners.slice(i, i + 50).map(ask))
  t.equal(states.size, parked)
  t.match(await lastOf(await client.call('whose', { owner: -1 })), {
    error: { code: -32603, data: { reason: 'overloaded', backend: 'docs' } }
  })
  const retry = async (owner: number, requestState: string): Promise<any> =>
    lastOf(
      await client.request('tools/call', {
        name: 'whose',
        arguments: { owner },
        inputResponses: { 'input-1': { action: 'accept', content: { owner } } },
        requestState
      })
    )
  // In an order that has nothing to do with the one before; every tenth never, every tenth with the state of another.
  const order = owners.map(i => (i * 617) % parked)
  let right = 0
  let refused = 0
  const answer = async (owner: number): Promise<void> => {
    if (owner % 10 === 0) return
    const message = await retry(owner, states.get(owner % 10 === 1 ? (owner + 1) % parked : owner)!)
    if (message.error?.data?.reason === 'state') refused++
    else {
      const [given, result] = JSON.parse(message.result.content[0].text)
      if (JSON.parse(given).owner === owner && result.content.owner === owner) right++
    }
  }
  for (let i = 0; i < parked; i += 50) await Promise.all(order.slice(i, i + 50).map(answer))
  t.equal(right, (parked * 8) / 10)
  t.equal(refused, parked / 10)
  await gateway.close({ deadline: 0 })
  await until('those who never came back are cancelled upstream', () => cancelled === parked / 5 + 1)
  await until('no upstream session is left', () => upstream.sessions.size === 0)
})

t.test('over stdio 32 wait and 100 are in line: none is misdirected, no child is left', async t => {
  const server = new Scripted()
  server.on('tools/list', turn => turn.answer('{"tools":[]}'))
  server.on('tools/call:whose', async turn => {
    const { result } = await turn.ask('elicitation/create', { message: 'whose?', requestedSchema: {} })
    turn.answer(JSON.stringify({ content: [{ type: 'text', text: JSON.stringify([turn.arguments, result]) }] }))
  })
  const { command, args, close } = await stdioUpstream(server)
  t.teardown(close)
  const limits = { maxProcesses: 33, queue: 100, queueTime: '100s' }
  const { url, gateway } = await startGateway(t, {
    backends: { docs: { kind: 'stdio', command, args, pool: 'principal', ...limits } }
  })
  const client = new ModernClient(url, { capabilities: { elicitation: {} } })
  let right = 0
  let waiting = 0
  const whole = async (owner: number): Promise<void> => {
    const { result } = await lastOf(await client.call('whose', { owner }))
    waiting++
    await until('as many wait as may', () => waiting >= 32, 20_000)
    const content = { 'input-1': { action: 'accept', content: { owner } } }
    const params = { name: 'whose', arguments: { owner }, inputResponses: content, requestState: result.requestState }
    const message = await lastOf(await client.request('tools/call', params))
    const [given, answer] = JSON.parse(message.result.content[0].text)
    if (JSON.parse(given).owner === owner && answer.content.owner === owner) right++
  }
  await Promise.all(Array.from({ length: 132 }, (_, i) => whole(i)))
  t.equal(right, 132)
  await gateway.close({ deadline: 0 })
  await until('no child is left', async () => (await children()).length === 0)
})
