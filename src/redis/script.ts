/** One change of what is stored, in one step, as Redis runs it (Lua). */
import { createHash } from 'node:crypto'
import type { Argument, Connection, Reply } from './connection.ts'

export class Script {
  readonly #text: string
  readonly #hash: string

  /** Keys of one call are in one slot. `flags`: of scripts (redis.io, "Script flags"); else the whole is refused when memory is full. */
  constructor(text: string, flags = '') {
    this.#text = `#!lua${flags && ` flags=${flags}`}\n${text}`
    this.#hash = createHash('sha1').update(this.#text).digest('hex')
  }

  /** Sends the text itself only to a server that has not seen it. */
  async run(connection: Pick<Connection, 'send'>, keys: readonly string[], args: readonly Argument[]): Promise<Reply> {
    const given: Argument[] = [`${keys.length}`, ...keys, ...args]
    try {
      return await connection.send(['EVALSHA', this.#hash, ...given])
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
      return await connection.send(['EVAL', this.#text, ...given])
    }
  }
}

/** The server's time in milliseconds. */
export const luaNow = `
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
`
