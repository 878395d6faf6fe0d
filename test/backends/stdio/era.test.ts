/** Which era a program has, asked on its pipe (2026-07-28 basic/transports/stdio, "Backward Compatibility"). */
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { anonymous } from '../../../src/auth/principal.ts'
import type { Backend, Link, OpenOptions } from '../../../src/backends/backend.ts'
import type { EraOption } from '../../../src/backends/era.ts'
import { createStdioBackend } from '../../../src/backends/stdio/backend.ts'
import { makeRequest } from '../../../src/protocol/make.ts'
import type { Message } from '../../../src/protocol/message.ts'
import { value } from '../../../src/protocol/write.ts'
import { fixture } from '../../helpers/stdio.ts'

const modernServer = fileURLToPath(new URL('../../fixtures/modern/stdio.ts', import.meta.url))
const eraServer = fixture('eras.mjs')

interface Options {
  readonly era?: EraOption
  readonly timeout?: number
  readonly scope?: 'session' | 'shared'
}

function backendOf(
  t: Test,
  args: readonly string[],
  { era = 'auto', timeout = 10_000, scope = 'session' }: Options = {}
) {
  let now = 0
  const clock = { now: () => now, after: () => () => {}, random: () => 0.5 }
  const backend = createStdioBackend({ name: 'files', command: process.execPath, args, era, timeout, scope, clock })
  t.teardown(() => backend.close())
  return Object.assign(backend, {
    pass: (ms: number): void => {
      now += ms
    }
  })
}

const open = (backend: Backend, options: Partial<OpenOptions> = {}): Promise<Link> =>
  backend.open({
    principal: anonymous,
    client: { version: '2025-11-25', capabilities: '{"roots":{}}', info: '{"name":"c","version":"1"}' },
    signal: new AbortController().signal,
    receive: () => {},
    ended: () => {},
    ...options
  })

const ask = async (link: Link, method: string, params: object = {}): Promise<any> => {
  const exchange = link.exchange(makeRequest('"a"', method, params), { principal: anonymous })
  for await (const message of exchange as AsyncIterable<Message>) if (message.kind === 'response') return value(message)
  throw new Error('no response')
}

/** What the program heard, by its own account. */
const heard = async (link: Link): Promise<string[]> => (await ask(link, 'heard')).result.heard

t.test('a program of 2026-07-28 alone is asked, and never shaken hands with', async t => {
  const link = await open(backendOf(t, [modernServer]))
  t.equal(link.era, 'modern')
  t.equal(link.state, undefined)
  t.match(JSON.parse(link.server.result), { serverInfo: { name: 'modern-fixture' }, instructions: 'Everything modern' })
  const who = await ask(link, 'tools/call', { name: 'who', arguments: {} })
  t.match(JSON.parse(who.result.content[0].text), {
    'io.modelcontextprotocol/clientInfo': { name: 'c' },
    'io.modelcontextprotocol/clientCapabilities': { roots: {} }
  })
  await link.close()
})

t.test('a program of both eras is served as a modern one; set to legacy it is an older one', async t => {
  t.equal((await open(backendOf(t, [modernServer, 'legacy']))).era, 'modern')
  const link = await open(backendOf(t, [modernServer, 'legacy'], { era: 'legacy' }))
  t.equal(link.era, 'legacy')
  t.match(await ask(link, 'tools/call', { name: 'echo', arguments: { message: 'x' } }), {
    result: { content: [{ text: 'Echo: x' }] }
  })
})

t.test('a program that refuses the question gets initialize on the same pipe, and is not asked again soon', async t => {
  const backend = backendOf(t, [eraServer, 'refuses'])
  const link = await open(backend)
  t.equal(link.era, 'legacy')
  t.same(await heard(link), ['server/discover', 'initialize', 'notifications/initialized', 'heard'])
  t.same(await heard(await open(backend)), ['initialize', 'notifications/initialized', 'heard'])
  backend.pass(700_000)
  t.match(await heard(await open(backend)), ['server/discover', 'initialize'])
})

t.test('a program that is silent about it gets initialize beside it', async t => {
  const backend = backendOf(t, [eraServer, 'silent'], { timeout: 2_000 })
  const link = await open(backend)
  t.equal(link.era, 'legacy')
  t.match(await heard(link), ['server/discover', 'initialize'])
})

t.test('a program that exits at the question is started once more, and not asked', async t => {
  const backend = backendOf(t, [eraServer, 'exits'])
  const link = await open(backend)
  t.equal(link.era, 'legacy')
  t.same(await heard(link), ['initialize', 'notifications/initialized', 'heard'])
})

t.test('a modern program that is slow to start is none of old', async t => {
  const link = await open(backendOf(t, [eraServer, 'slow', 'modern'], { timeout: 4_000 }))
  t.equal(link.era, 'modern')
  t.match(await heard(link), ['server/discover', 'initialize'], 'it refused initialize, and is used all the same')
})

t.test('a program of both eras that is slow to start, and took initialize, is started once more', async t => {
  const link = await open(backendOf(t, [eraServer, 'slow', 'modern', 'both'], { timeout: 4_000 }))
  t.equal(link.era, 'modern')
  t.same(await heard(link), ['server/discover', 'heard'])
})

t.test('-32022 that lists the version: asked once more', async t => {
  const link = await open(backendOf(t, [eraServer, 'modern', 'again']))
  t.equal(link.era, 'modern')
  t.same(await heard(link), ['server/discover', 'server/discover', 'heard'])
})

t.test('era: modern refuses a program of old; one that is silent is given up in time', async t => {
  await t.rejects(open(backendOf(t, [eraServer, 'refuses'], { era: 'modern' })), { code: 'backend_unavailable' })
  await t.rejects(open(backendOf(t, [eraServer, 'silent'], { era: 'modern', timeout: 400 })), { code: 'timeout' })
})

t.test('the opening can be given up while the question is open', async t => {
  const controller = new AbortController()
  const opening = open(backendOf(t, [eraServer, 'silent']), { signal: controller.signal })
  controller.abort(new Error('enough'))
  await t.rejects(opening)
})

t.test('what a modern program asks is dropped; what it says of no call is received', async t => {
  const received: string[] = []
  const link = await open(backendOf(t, [eraServer, 'modern']), {
    receive: message => void received.push(message.method!)
  })
  const said = await ask(link, 'talk')
  t.match(said, { id: 'a', result: { ok: true } })
  t.same(await heard(link), ['server/discover', 'talk', 'heard'], 'no answer was written')
  t.same(received, ['notifications/x'])
})

t.test('messages of a subscription reach the request that made it, under its own id; its end fails it', async t => {
  const link = await open(backendOf(t, [eraServer, 'modern']))
  const request = makeRequest('"mine"', 'subscriptions/listen', { notifications: {} })
  const exchange = link.exchange(request, { principal: anonymous })
  const first = await exchange.next()
  t.match(value(first.value), {
    method: 'notifications/subscriptions/acknowledged',
    params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 'mine' } }
  })
  await ask(link, 'end')
  await t.rejects(exchange.next(), { code: 'backend_broke' })
  const other = link.exchange(request, { principal: anonymous })
  await other.next()
  await ask(link, 'complete')
  t.match(value((await other.next()).value), {
    id: 'mine',
    result: { _meta: { 'io.modelcontextprotocol/subscriptionId': 'mine' } }
  })
})
