/** A process that is short of memory refuses what is new (P4). */
import t from 'tap'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { startProgram } from '../helpers/program.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { contractTools, Scripted } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'

t.test('a heap that is nearly full: no new sessions until there is room again; what is open goes on (P4)', async t => {
  const upstream = await HttpUpstream.start(contractTools(new Scripted()))
  t.teardown(() => upstream.close())
  const preload = new URL('../fixtures/ballast.mjs', import.meta.url).href
  const program = await startProgram(
    t,
    { backends: { docs: { kind: 'http', url: upstream.url } } },
    { env: { NODE_OPTIONS: `--max-old-space-size=256 --max-semi-space-size=1 --import=${preload}`, BALLAST: '0.89' } }
  )
  const isUnder = async (level: string): Promise<boolean> => {
    const status = await fetch(`${program.adminUrl}/readyz?verbose`)
    return ((await status.json()) as { pressure: string }).pressure === level
  }
  const open = () => RawClient.open(program.url())
  const client = await open()
  process.kill(program.child.pid!, 'SIGUSR2')
  await until('the heap is nearly full', () => isUnder('high'), 20_000)
  await t.rejects(open())
  t.equal((await client.call('echo')).status, 200)
  t.equal((await fetch(`${program.adminUrl}/healthz`)).status, 200)
  process.kill(program.child.pid!, 'SIGUSR2')
  await until('there is room again', () => isUnder('none'), 30_000)
  await open()
})
