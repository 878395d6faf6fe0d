/**
 * `npm run fuzz -- [--seconds N] [--target X] [--seed S]`: every target for 60 seconds, as many at once as there are processors. To
 * see a failure again, what was printed with it: `--property`, `--seed` and `--path`. Ends with `N passed, N failed`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { run } from './run.ts'
import { targets } from './targets.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    target: { type: 'string' },
    seed: { type: 'string', default: `${Math.floor(Math.random() * 2 ** 31)}` },
    property: { type: 'string' },
    path: { type: 'string' }
  }
})

function whole(name: 'seconds' | 'seed'): number {
  if (!/^-?\d{1,10}$/.test(values[name])) throw new Error(`--${name} takes a whole number`)
  return Number(values[name])
}

/** In this process. Whether it passed. */
async function one(name: string): Promise<boolean> {
  const target = targets[name]
  if (target === undefined) throw new Error(`--target takes ${Object.keys(targets).join(', ')}`)
  const { property, path } = values
  if (property !== undefined && target.properties[property] === undefined) {
    throw new Error(`--property takes ${Object.keys(target.properties).join(', ')}`)
  }
  console.log(`${name}: seed ${values.seed}, ${values.seconds} s`)
  const { inputs, failure } = await run(name, target, {
    seed: whole('seed'),
    seconds: whole('seconds'),
    property,
    path
  })
  console.log(`${name}: ${inputs} inputs${failure === undefined ? '' : `, then FAILED: ${failure}`}`)
  return failure === undefined
}

/** In a process of its own; what it says is said in one piece. */
async function apart(name: string): Promise<boolean> {
  const args = ['--target', name, '--seconds', values.seconds, '--seed', values.seed]
  const child = spawn(process.execPath, [import.meta.filename, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  process.stdout.write(said.replace(/^\d+ passed, \d+ failed\n/m, ''))
  return code === 0
}

const names = values.target === undefined ? Object.keys(targets) : [values.target]
const verdicts: boolean[] = []
if (values.target !== undefined) {
  verdicts.push(await one(values.target))
} else {
  const waiting = [...names]
  const worker = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) verdicts.push(await apart(name))
  }
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), names.length) }, worker))
}
const failed = verdicts.filter(passed => !passed).length
console.log(`${verdicts.length - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
