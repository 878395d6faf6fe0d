#!/usr/bin/env node
import { tooOld } from './node-version.ts'

const problem = tooOld(process.versions.node)
if (problem !== undefined) {
  process.stderr.write(`causeway: ${problem}\n`)
  process.exit(1)
}
// Imported only here: an older Node stumbles over what is in there.
const { perform } = await import('./command.ts')
const code = await perform(process.argv.slice(2), {
  out: text => void process.stdout.write(text),
  error: text => void process.stderr.write(text)
})
// What a failed start left open must not keep the process; after a good one the gateway does.
if (code !== 0) process.exit(code)
