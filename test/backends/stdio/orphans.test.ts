import { fileURLToPath } from 'node:url'
import t from 'tap'
import { endOf, startChild } from '../../helpers/child.ts'
import { runs } from '../../helpers/processes.ts'
import { until } from '../../helpers/until.ts'

const parent = fileURLToPath(new URL('../../fixtures/stdio/parent.ts', import.meta.url))

const start = async (...flags: string[]) => {
  const gateway = startChild(process.execPath, [parent, ...flags])
  const pids = await gateway.line(line => (line.startsWith('[') ? (JSON.parse(line) as number[]) : undefined))
  return { gateway, pids }
}

t.test('children end on the end of their input after kill -9 of the gateway', async t => {
  const { gateway, pids } = await start()
  t.equal(pids.filter(runs).length, 2)
  gateway.kill('SIGKILL')
  t.equal(await endOf(gateway, 5_000), 'SIGKILL')
  await until('the children are gone', () => !pids.some(runs))
})

t.test('a gateway that exits without a drain takes even stubborn children with it', async t => {
  const { gateway, pids } = await start('--ignore-signals')
  gateway.endInput()
  t.equal(await endOf(gateway, 5_000), 0)
  await until('the children are gone', () => !pids.some(runs))
})
