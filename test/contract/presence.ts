/** What every Presence does: one exported suite for all implementations. */
import t, { type Test } from 'tap'
import type { Presence } from '../../src/instances/presence.ts'
import { until } from '../helpers/until.ts'

export interface PresenceHarness {
  /** A new instance that sees the others of this harness. */
  start(): Promise<Presence>
  /** Stops an instance without a word, as `kill -9` does. Absent: it cannot happen (all are one process). */
  kill?(presence: Presence): Promise<void>
  close(): Promise<void>
}

/** Death is noticed in this time (milliseconds). */
const noticed = 5_000

export function presenceContract(name: string, make: () => Promise<PresenceHarness>): void {
  const test = (title: string, run: (t: Test, harness: PresenceHarness) => Promise<void>) =>
    t.test(`${name}: ${title}`, async t => {
      const harness = await make()
      t.teardown(() => harness.close())
      await run(t, harness)
    })

  test('every instance has an id of its own, never used twice', async (t, { start }) => {
    const ids = new Set<string>()
    for (let i = 0; i < 5; i++) {
      const presence = await start()
      t.ok(presence.id.length > 0)
      ids.add(presence.id)
      if (i % 2 === 0) await presence.close()
    }
    t.equal(ids.size, 5)
  })

  test('an instance that runs is alive to itself and to others', async (t, { start }) => {
    const a = await start()
    const b = await start()
    for (const seen of [a, b]) for (const by of [a, b]) t.ok(await by.alive(seen.id))
  })

  test('one that never existed is not alive', async (t, { start }) => {
    const presence = await start()
    for (const id of ['unknown', '', '*', `${presence.id}2`]) t.notOk(await presence.alive(id))
  })

  test('one that was closed is not alive, at once, to itself and to others; the others are', async (t, { start }) => {
    const a = await start()
    const b = await start()
    const c = await start()
    await b.close()
    t.notOk(await a.alive(b.id))
    t.ok(await a.alive(a.id))
    t.ok(await a.alive(c.id))
    await b.close()
    t.notOk(await c.alive(b.id))
  })

  test('one that died is noticed', async (t, { start, kill }) => {
    if (kill === undefined) return
    const a = await start()
    const b = await start()
    await kill(b)
    await until('the death to be noticed', async () => !(await a.alive(b.id)), noticed)
    t.ok(await a.alive(a.id))
  })
}
