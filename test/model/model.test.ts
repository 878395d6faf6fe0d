/**
 * Sessions and streams under random commands: what clients saw is what was sent, once, in order, per stream, and each call
 * ends in a response, one error, or, cancelled, in nothing (R17, R24, R102, RES-05, E4, B1, B2).
 */
import t from 'tap'
import { failOnRejections } from '../helpers/rejections.ts'
import { runModel } from './run.ts'

failOnRejections(t)
// For more commands than usual.
t.setTimeout(600_000)

const seed = Number(process.env.MODEL_SEED ?? Math.floor(Math.random() * 2 ** 31))
const commands = Number(process.env.MODEL_COMMANDS ?? 1_500)

t.test(`${commands} commands with seed ${seed} (MODEL_SEED, MODEL_COMMANDS)`, async t => {
  const began = performance.now()
  const counts = await runModel(t, { seed, commands })
  t.comment(`seed ${seed}, ${Math.round(performance.now() - began)} ms`)
  for (const [name, count] of [...counts].sort()) t.comment(`${count} ${name}`)
  t.pass()
})
