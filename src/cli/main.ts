#!/usr/bin/env node
import { tooOld } from './node-version.ts'

const problem = tooOld(process.versions.node)
if (problem !== undefined) {
  process.stderr.write(`causeway: ${problem}\n`)
  process.exit(1)
}
// The young generation gets its size in one step: else what the first large lists bring is copied again at each of five.
const { setFlagsFromString } = await import('node:v8')
setFlagsFromString('--semi-space-growth-factor=16')
// Imported only here: an older Node stumbles over what is in there.
const { perform } = await import('./command.ts')
const code = await perform(process.argv.slice(2), {
  out: text => void process.stdout.write(text),
  error: text => void process.stderr.write(text)
})
// What a failed start left open must not keep the process; after a good one the gateway does.
if (code !== 0) process.exit(code)
