#!/usr/bin/env node
import { perform } from './command.ts'

const code = await perform(process.argv.slice(2), {
  out: text => void process.stdout.write(text),
  error: text => void process.stderr.write(text)
})
// What a failed start left open must not keep the process; after a good one the gateway does.
if (code !== 0) process.exit(code)
