/**
 * Three backends on one route under random commands: every answer reaches its owner, once, nothing of one session is seen
 * by another, whatever ids and tokens are in use twice, and lists and subscriptions are right again after everything
 * (S15, MUX-03, NTF-03, BKD-03).
 */
import t, { type Test } from 'tap'
import { Random } from '../helpers/random.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { commands } from './several/commands.ts'
import { World } from './several/world.ts'

failOnRejections(t)
t.setTimeout(900_000)

const seed = Number(process.env.MODEL_SEED ?? Math.floor(Math.random() * 2 ** 31))
const count = Number(process.env.MODEL_COMMANDS ?? 600)

/** Commands in one round, at most. */
const perRound = 200

const total = commands.reduce((sum, { weight }) => sum + weight, 0)

async function one(world: World): Promise<void> {
  for (;;) {
    let at = world.random.next() * total
    const command = commands.find(({ weight }) => {
      at -= weight
      return at < 0
    })!
    const done = await command.run(world)
    if (done === false) continue
    world.trace.push(`${command.name}${done === '' ? '' : `: ${done}`}`)
    return
  }
}

/** Rejects with the seed, after telling the last commands, when something was not as it should be. */
async function run(t: Test): Promise<void> {
  const world = await World.start(t, new Random(seed))
  let done = 0
  const check = (): void => {
    if (world.faults.length > 0) throw new Error(world.faults.slice(0, 10).join('\n'))
  }
  try {
    while (done < count) {
      world.trace.length = 0
      const round = Math.min(perRound, count - done)
      for (let i = 0; i < round; i++) {
        await one(world)
        check()
        if (world.random.below(3) === 0) await new Promise(resolve => setImmediate(resolve))
      }
      await world.settle()
      check()
      done += round
    }
  } catch (error) {
    for (const line of [...world.trace, '', ...world.describe()]) t.comment(line)
    throw new Error(`seed ${seed}, after ${done} commands: ${(error as Error).message}`, { cause: error })
  }
}

t.test(`${count} commands over three backends with seed ${seed} (MODEL_SEED, MODEL_COMMANDS)`, async t => {
  const began = performance.now()
  await run(t)
  t.comment(`seed ${seed}, ${Math.round(performance.now() - began)} ms`)
  t.pass()
})
