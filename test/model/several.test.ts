/**
 * Three backends on one route under random commands: every answer reaches its owner, once, nothing of one session is seen
 * by another, whatever ids and tokens are in use twice, and lists and subscriptions are right again after everything
 * (S15, MUX-03, NTF-03, BKD-03).
 */
import t from 'tap'
import { failOnRejections } from '../helpers/rejections.ts'
import { playModel } from './run.ts'
import { commands } from './several/commands.ts'
import { World } from './several/world.ts'

failOnRejections(t)
// For more commands than usual.
t.setTimeout(900_000)

playModel(t, 'over three backends', {
  start: World.start,
  commands,
  perRound: 200,
  async pause({ random }) {
    if (random.below(3) === 0) await new Promise(resolve => setImmediate(resolve))
  },
  usual: 600
})
