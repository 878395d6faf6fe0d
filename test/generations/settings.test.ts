/**
 * Settings that come by a reload hold as those that were there at the start do: the tests of the settings themselves run once
 * more, against gateways that got them so (LIF-03).
 */
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { Settings } from '../../src/generations/settings.ts'
import { startModernHttp } from '../fixtures/modern/http.ts'
import { configOf, startGateway } from '../helpers/gateway.ts'
import { saying, startLegacy } from '../helpers/legacy.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'

failOnRejections(t)
t.setTimeout(120_000)

/** Sessions, streams, and how they are used; by the titles of those that are about what can change. */
const again: readonly (readonly [file: string, titles: string])[] = [
  ['limits/sessions', ''],
  ['limits/streams', '/^streams\\.(?!keepAlive|highWater|stall)/'],
  ['spec/legacy-response-mode', ''],
  ['spec/legacy-sessionless', ''],
  ['spec/legacy-version-header', '']
]
for (const [file, titles] of again) {
  const env = { ...process.env, CAUSEWAY_RELOADED: '1', TAP_GREP: titles }
  t.spawn(process.execPath, [fileURLToPath(new URL(`../${file}.test.ts`, import.meta.url))], { env }, file)
}

t.test('server.limits.batch and input.timeout', async t => {
  const { gateway, open, held, upstream } = await startLegacy(t)
  const client = await open({ version: '2025-03-26', capabilities: { roots: {} } })
  const batch = () => client.post([1, 2].map(id => ({ id, method: 'ping' })))
  t.equal((await batch()).status, 200)
  await gateway.reload(
    configOf({
      backends: { docs: { kind: 'http', url: upstream.url } },
      server: { limits: { batch: 1 } },
      input: { timeout: '100ms' }
    })
  )
  t.equal((await batch()).status, 400)
  const calling = client.call('held', {}, { progressToken: 1 })
  const turn = await held()
  const { error } = await turn.ask('roots/list')
  t.match(error, { data: { reason: 'input_timeout' } })
  turn.answer(saying('done'))
  await (await calling).events.whole()
})

t.test('input.rounds', async t => {
  const server = await startModernHttp()
  t.teardown(server.stop)
  const file = { backends: { modern: { kind: 'http', url: server.url } } }
  const { gateway, url } = await startGateway(t, { ...file, input: { rounds: 1 } })
  const client = await RawClient.open(url, { capabilities: { elicitation: {} } })
  const call = async (answers: number): Promise<any> => {
    const { events } = await client.call('rounds', { rounds: 2 })
    for (let i = 0; i < answers; i++) {
      const { id } = await events.message(({ params }) => params?.message === `Round ${i}`)
      await client.post({ id, result: { action: 'accept', content: { name: 'x' } } })
    }
    return (await events.whole()).messages.at(-1)
  }
  t.match(await call(1), { error: { data: { reason: 'backend_invalid' } } })
  await gateway.reload(configOf({ ...file, input: { rounds: 2 } }))
  t.match(await call(2), { result: { content: [{ text: '2 rounds' }] } })
})

t.test('what follows the config has what the last one says', t => {
  const backends = { a: { kind: 'http', url: 'http://a/mcp' } }
  const settings = new Settings(configOf({ backends, sessions: { max: 1 } }))
  const followed = settings.follow({ own: 'kept' }, ({ sessions: { max } }) => ({ max }))
  const seen: number[] = []
  settings.on(({ sessions: { max } }) => seen.push(max))
  t.same(followed, { own: 'kept', max: 1 })
  settings.apply(configOf({ backends, sessions: { max: 2 } }))
  t.same([followed, seen], [{ own: 'kept', max: 2 }, [2]])
  t.end()
})
