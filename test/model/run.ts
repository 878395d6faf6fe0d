/** Runs a model: random commands by a seed, in rounds, each of which ends with everything arrived and compared. */
import type { Test } from 'tap'
import { Random } from '../helpers/random.ts'

export interface Command<W> {
  readonly name: string
  readonly weight: number
  /** Does it, or returns false when there is nothing to do it to. Returns what the trace is to say. */
  run(world: W): Promise<string | false>
}

/** What commands are given to. */
export interface Played {
  readonly random: Random
  /** What was not as it should be. */
  readonly faults: readonly string[]
  /** The commands of this round. */
  readonly trace: string[]
  /** Everything arrives, and is compared. */
  settle(): Promise<void>
  /** What is still going on. */
  describe(): string[]
}

export interface Model<W> {
  /** Begins the world. */
  readonly start: (t: Test, random: Random) => Promise<W>
  readonly commands: readonly Command<W>[]
  /** Commands in one round, at most. */
  readonly perRound: number
  /** Between two commands. */
  readonly pause: (world: W) => Promise<unknown>
  /** Commands when `MODEL_COMMANDS` does not say how many. */
  readonly usual: number
}

const seed = Number(process.env.MODEL_SEED ?? Math.floor(Math.random() * 2 ** 31))

/** A test that plays the model, and fails with the seed and the last commands. `what`: what the commands are given to. */
export function playModel<W extends Played>(t: Test, what: string, model: Model<W>): void {
  const count = Number(process.env.MODEL_COMMANDS ?? model.usual)
  t.test(`${count} commands ${what} with seed ${seed} (MODEL_SEED, MODEL_COMMANDS)`, async t => {
    const began = performance.now()
    const counts = await play(t, model, count)
    t.comment(`seed ${seed}, ${Math.round(performance.now() - began)} ms`)
    for (const [name, count] of [...counts].sort()) t.comment(`${count} ${name}`)
    t.pass()
  })
}

/** Resolves to how often each command ran. */
async function play<W extends Played>(t: Test, model: Model<W>, count: number): Promise<Map<string, number>> {
  const { start, commands, perRound, pause } = model
  const counts = new Map<string, number>()
  const world = await start(t, new Random(seed))
  const check = (): void => {
    if (world.faults.length > 0) throw new Error(world.faults.slice(0, 10).join('\n'))
  }
  let done = 0
  try {
    while (done < count) {
      world.trace.length = 0
      const round = Math.min(perRound, count - done)
      for (let i = 0; i < round; i++) {
        const name = await one(world, commands)
        counts.set(name, (counts.get(name) ?? 0) + 1)
        check()
        await pause(world)
      }
      await world.settle()
      check()
      done += round
    }
  } catch (error) {
    for (const line of [...world.trace, '', ...world.describe()]) t.comment(line)
    throw new Error(`seed ${seed}, after ${done} commands: ${(error as Error).message}`, { cause: error })
  }
  return counts
}

/** Runs one that finds something to do. Resolves to its name. */
async function one<W extends Played>(world: W, commands: readonly Command<W>[]): Promise<string> {
  const total = commands.reduce((sum, { weight }) => sum + weight, 0)
  for (;;) {
    let at = world.random.next() * total
    const command = commands.find(({ weight }) => {
      at -= weight
      return at < 0
    })!
    const done = await command.run(world)
    if (done === false) continue
    world.trace.push(`${command.name}${done === '' ? '' : `: ${done}`}`)
    return command.name
  }
}
