/** Ten thousand calls that wait for their users at once (issue: under 100 MB, and all end). */
import t from 'tap'
import { anonymous } from '../../../src/auth/principal.ts'
import type { Exchange } from '../../../src/backends/backend.ts'
import { makeRequest, makeResult } from '../../../src/protocol/make.ts'
import { usedBytes } from '../../helpers/memory.ts'
import { clientOf } from '../../helpers/module-link.ts'

const count = 10_000

t.test('10,000 suspended elicitations take under 100 MB, and all of them end', async t => {
  const { link } = await clientOf(
    t,
    { tools: [{ name: 'ask', handler: async (_args, { elicitText }) => (await elicitText('Name?')) ?? 'nobody' }] },
    { capabilities: { elicitation: {} } }
  )
  const suspend = async (calls: number): Promise<[Exchange, string][]> => {
    const suspended: [Exchange, string][] = []
    for (let i = 0; i < calls; i++) {
      const exchange = link.exchange(makeRequest(String(i), 'tools/call', { name: 'ask' }), { principal: anonymous })
      suspended.push([exchange, (await exchange.next()).value.id])
    }
    return suspended
  }
  const end = async (suspended: readonly [Exchange, string][]): Promise<number> => {
    let ended = 0
    for (const [exchange, id] of suspended) {
      await link.send(makeResult(id, { action: 'accept', content: { answer: 'Ada' } }))
      if ((await exchange.next()).value?.kind === 'response') ended++
    }
    return ended
  }
  await end(await suspend(100))
  const before = await usedBytes()
  const suspended = await suspend(count)
  const added = (await usedBytes()) - before
  t.comment(`${Math.round(added / count)} bytes each`)
  t.ok(added < 100e6, `${Math.round(added / 1e6)} MB`)
  t.equal(await end(suspended.splice(0)), count)
  t.ok((await usedBytes()) - before < 5e6, 'nothing is left')
})
