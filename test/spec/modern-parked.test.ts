/** A thousand calls that wait for their clients at one backend, and what becomes of those who answer, lie, or never come back. */
import t from 'tap'
import { configOf, startGateway } from '../helpers/gateway.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { lastOf, ModernClient } from '../helpers/modern.ts'
import { children } from '../helpers/processes.ts'
import { Random } from '../helpers/random.ts'
import { Scripted } from '../helpers/scripted.ts'
import { stdioUpstream } from '../helpers/stdio-upstream.ts'
import { until } from '../helpers/until.ts'

const parked = 1_000

/** A tool that answers with whose call it is, and what that one said. `open`: the calls that wait. */
function whose(): { server: Scripted; open: Set<number>; cancelled: number[]; called: number[] } {
  const server = new Scripted()
  const [open, cancelled, called] = [new Set<number>(), [] as number[], [] as number[]]
  server.on('tools/list', turn => turn.answer('{"tools":[]}'))
  server.on('tools/call:whose', async turn => {
    const { owner } = JSON.parse(turn.arguments)
    called.push(owner)
    open.add(owner)
    void turn.cancelled.then(() => {
      cancelled.push(owner)
      open.delete(owner)
    })
    const { result } = await turn.ask('elicitation/create', { message: 'whose?', requestedSchema: {} })
    open.delete(owner)
    turn.answer(JSON.stringify({ content: [{ type: 'text', text: JSON.stringify([owner, result]) }] }))
  })
  return { server, open, cancelled, called }
}

const retry = async (client: ModernClient, owner: number, requestState: string): Promise<any> =>
  lastOf(
    await client.request('tools/call', {
      name: 'whose',
      arguments: { owner },
      inputResponses: { 'input-1': { action: 'accept', content: { owner } } },
      requestState
    })
  )

/** Whether a result is that of this call, with the answer of its own client. */
function isRight(message: any, owner: number): boolean {
  if (message.result?.resultType !== 'complete') return false
  const [of, answer] = JSON.parse(message.result.content[0].text)
  return of === owner && answer.action === 'accept' && answer.content.owner === owner
}

/** Some at a time. */
async function each(owners: readonly number[], work: (owner: number) => Promise<void>): Promise<void> {
  for (let i = 0; i < owners.length; i += 50) await Promise.all(owners.slice(i, i + 50).map(work))
}

t.test(`${parked} parked calls, answered in any order: each result goes to its owner, nothing is left`, async t => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const random = new Random(seed)
  const { server, open, cancelled, called } = whose()
  const upstream = await HttpUpstream.start(server)
  t.teardown(() => upstream.close())
  const file = { backends: { docs: { kind: 'http', url: upstream.url } } }
  const { url, gateway, adminUrl } = await startGateway(t, file)
  const client = new ModernClient(url, { capabilities: { elicitation: {} } })
  const states = new Map<number, string>()
  const ask = async (owner: number): Promise<void> => {
    const { result } = await lastOf(await client.call('whose', { owner }))
    states.set(owner, result.requestState)
  }
  const owners = Array.from({ length: parked }, (_, i) => i)
  const silent = owners.filter(owner => owner % 10 === 0)
  const tampering = owners.filter(owner => owner % 10 === 1)
  await each(
    owners.filter(owner => owner % 10 !== 0),
    ask
  )
  // Only for those who never come back, that their time is over soon.
  await gateway.reload(configOf({ ...file, input: { timeout: '6s' } }))
  await each(silent, ask)
  t.equal(open.size, parked)
  t.equal(new Set(states.values()).size, parked)
  t.match(await lastOf(await client.call('whose', { owner: -1 })), {
    error: { code: -32603, data: { reason: 'overloaded', backend: 'docs' } }
  })
  const tampered = (owner: number): string => {
    const state = states.get(owner)!
    const at = random.below(state.length)
    const others = [
      states.get((owner + 1) % parked)!,
      states.get((owner + 9) % parked)!,
      `${state.slice(0, at)}${state[at] === 'A' ? 'B' : 'A'}${state.slice(at + 1)}`,
      state.slice(0, at)
    ]
    return random.pick(others)
  }
  const wrong: unknown[] = []
  const expect = (holds: boolean, owner: number, message: unknown): void => {
    if (!holds) wrong.push({ owner, message })
  }
  const order = owners.filter(owner => owner % 10 !== 0).map(owner => ({ owner, at: random.next() }))
  order.sort((a, b) => a.at - b.at)
  await each(
    order.map(({ owner }) => owner),
    async owner => {
      if (owner % 10 === 1) {
        const message = await retry(client, owner, tampered(owner))
        expect(message.error?.code === -32602 && message.error.data.reason === 'state', owner, message)
      } else {
        const message = await retry(client, owner, states.get(owner)!)
        expect(isRight(message, owner), owner, message)
      }
    }
  )
  t.same(wrong.slice(0, 3), [], `seed ${seed}`)
  await until('those who never come back are cancelled upstream', () =>
    silent.every(owner => cancelled.includes(owner))
  )
  t.same(
    [...open].toSorted((a, b) => a - b),
    tampering,
    'what was tampered with still waits for its owner'
  )
  await each(tampering, async owner => {
    const message = await retry(client, owner, states.get(owner)!)
    expect(isRight(message, owner), owner, message)
  })
  await each(silent.slice(0, 10), async owner => {
    const message = await retry(client, owner, states.get(owner)!)
    expect(message.error?.code === -32602, owner, message)
  })
  t.same(wrong.slice(0, 3), [], `seed ${seed}`)
  t.equal(open.size, 0)
  t.equal(called.length, parked + 1, 'no call was made twice')
  t.equal(cancelled.length, parked / 10 + 1, 'nothing else was cancelled')
  await until('only what reads lists has an upstream session', () => upstream.sessions.size <= 1)
  const response = await fetch(new URL('/readyz?verbose', adminUrl))
  t.match(await response.json(), { backends: [{ inflight: 0 }] })
  await gateway.close({ deadline: 0 })
  await until('no upstream session is left', () => upstream.sessions.size === 0)
})

t.test('over stdio 32 wait and 100 are in line: none is misdirected, no child is left', async t => {
  const { server, open, called } = whose()
  const { command, args, close } = await stdioUpstream(server)
  t.teardown(close)
  const before = new Set(children())
  const limits = { maxProcesses: 33, queue: 100, queueTime: '100s' }
  const { url, gateway } = await startGateway(t, {
    backends: { docs: { kind: 'stdio', command, args, pool: 'principal', ...limits } }
  })
  const client = new ModernClient(url, { capabilities: { elicitation: {} } })
  const mine = (): number => children().filter(pid => !before.has(pid)).length
  const asked = new Set<number>()
  const full = Promise.withResolvers<void>()
  const whole = Array.from({ length: 132 }, async (_, owner) => {
    const { result } = await lastOf(await client.call('whose', { owner }))
    asked.add(owner)
    await full.promise
    return isRight(await retry(client, owner, result.requestState), owner)
  })
  await until('as many wait as may', () => asked.size === 32, 20_000)
  t.equal(open.size, 32, 'one to a child')
  t.ok(mine() <= 33, `${mine()} children`)
  t.match(await lastOf(await client.call('whose', { owner: -1 })), {
    error: { code: -32603, data: { reason: 'overloaded', backend: 'docs' } }
  })
  t.equal(called.length, 32, 'the others are in line')
  full.resolve()
  t.same(new Set(await Promise.all(whole)), new Set([true]))
  t.equal(called.length, 132)
  t.ok(mine() <= 33, 'children are used again')
  await gateway.close({ deadline: 0 })
  await until('no child is left', () => mine() === 0)
})
