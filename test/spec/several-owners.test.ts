/** Three backends on one route, and nobody gets what is another's. More of it: `npm run isolation` (S15). */
import t from 'tap'
import { owners } from '../helpers/owners.ts'

const calls = 1_280

t.test('three backends: 64 clients that all use id 1 and token 1 get their own answers (S15)', async t => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  t.same(await owners(t, 'several', { clients: 64, atOnce: 1, calls, seed }), { wrong: [], calls }, `seed ${seed}`)
})
