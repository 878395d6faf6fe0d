/** Calls of several backends that are given up before it is known whose they are. */
import t from 'tap'
import type { Turn } from '../helpers/scripted.ts'
import { together } from '../helpers/union.ts'
import { until } from '../helpers/until.ts'

t.test('a subscription that is cancelled before its backend is found leaves nothing in flight', async t => {
  const all = await together(t, { a: { resources: ['x://1'] }, b: { resources: ['y://1'] } })
  const client = await all.open()
  const held: Turn[] = []
  all.servers.a!.on('resources/list', turn => void held.push(turn))
  const { length } = all.servers.b!.heard
  const subscribing = client.post({ id: 7, method: 'resources/subscribe', params: { uri: 'y://1' } })
  await until('the lists are read', () => held.length === 1 && all.servers.b!.heard.length > length)
  await client.post({ method: 'notifications/cancelled', params: { requestId: 7 } })
  for (const turn of held) turn.answer('{"resources":[]}')
  await (await subscribing).events.whole()
  const inflight = async (): Promise<number[]> =>
    ((await (await fetch(`${all.adminUrl}/readyz?verbose`)).json()) as any).backends.map((one: any) => one.inflight)
  await until('nothing is in flight', async () => (await inflight()).every(count => count === 0), 2_000)
  t.equal(all.servers.b!.heardOf('resources/subscribe').length, 0)
})
