/** Runs the model: random commands by a seed, in rounds, each of which ends with everything arrived and compared. */
import type { Test } from 'tap'
import { Random } from '../helpers/random.ts'
import { commands, pause } from './commands.ts'
import { World } from './world.ts'

export interface ModelOptions {
  readonly seed: number
  readonly commands: number
  /** Called after each round. */
  readonly progress?: (done: number) => void
}

/** Commands in one round, at most. */
const perRound = 150

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

/** Rejects with the seed and the last commands when a client saw something else than what was sent. Resolves to how often each command ran. */
export async function runModel(
  t: Test,
  { seed, commands: count, progress }: ModelOptions
): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const world = await World.start(t, new Random(seed))
  let done = 0
  try {
    while (done < count) {
      world.trace.length = 0
      const round = Math.min(perRound, count - done)
      for (let i = 0; i < round; i++) {
        await one(world)
        if (world.faults.length > 0) throw new Error(world.faults.join('\n'))
        await pause(world)
      }
      await world.settle()
      if (world.faults.length > 0) throw new Error(world.faults.join('\n'))
      for (const line of world.trace) {
        const name = line.split(':')[0]!
        counts.set(name, (counts.get(name) ?? 0) + 1)
      }
      done += round
      progress?.(done)
    }
  } catch (error) {
    for (const line of [...world.trace, '', ...world.describe()]) t.comment(line)
    throw new Error(`seed ${seed}, after ${done} commands: ${(error as Error).message}`, { cause: error })
  }
  return counts
}
