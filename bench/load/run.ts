import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'

/** Runs one of the load programs beside this file to its end; resolves with the JSON it printed. */
export const runLoad = async <Report>(name: string, ...args: readonly (string | number)[]): Promise<Report> => {
  const file = path.join(import.meta.dirname, `${name}.ts`)
  const child = spawn(process.execPath, [file, ...args.map(String)], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', data => {
    output += data
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`the load program ${name} ended with ${code}`)
  return JSON.parse(output)
}
