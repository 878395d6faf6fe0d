/**
 * Sessions and streams under random commands: what clients saw is what was sent, once, in order, per stream, and each call
 * ends in a response, one error, or, cancelled, in nothing (R17, R24, R102, RES-05, E4, B1, B2).
 */
import t from 'tap'
import { failOnRejections } from '../helpers/rejections.ts'
import { commands, pause } from './commands.ts'
import { playModel } from './run.ts'
import { World } from './world.ts'

failOnRejections(t)
// For more commands than usual.
t.setTimeout(600_000)

playModel(t, 'over one backend', {
  start: World.start,
  commands,
  perRound: 150,
  pause,
  usual: 1_500
})
