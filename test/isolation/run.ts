/**
 * `npm run isolation`: 64 clients that all use id 1 and progress token 1, 50,000 calls over each of http, stdio shared,
 * stdio with a process for each session, and three http backends on one route (S15). ISOLATION_CALLS and ISOLATION_SEED say otherwise.
 */
import t from 'tap'
import { owners } from '../helpers/owners.ts'

const calls = Number(process.env.ISOLATION_CALLS ?? 50_000)
const seed = Number(process.env.ISOLATION_SEED ?? Math.floor(Math.random() * 2 ** 31))

t.setTimeout(1_800_000)

for (const kind of ['http', 'stdio shared', 'stdio', 'several'] as const) {
  t.test(`${kind}: ${calls} calls of 64 clients, seed ${seed}`, { timeout: 600_000 }, async t => {
    const began = performance.now()
    const { wrong, calls: done } = await owners(t, kind, { clients: 64, atOnce: 2, calls, seed })
    t.comment(`${done} calls in ${Math.round((performance.now() - began) / 1_000)} s, ${wrong.length} wrong`)
    t.same(wrong.slice(0, 10), [])
    t.ok(done >= calls)
  })
}
