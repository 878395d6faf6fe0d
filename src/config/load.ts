import { readFileSync } from 'node:fs'
import { access, open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Values } from './expand.ts'
import { type Parsed, parse } from './parse.ts'
import { ConfigError } from './problem.ts'

/** Where a config is looked for when none is named, in this order. */
export const usualPlaces = ['./causeway.yaml', './config/causeway.yaml', '/etc/causeway/causeway.yaml'] as const

/** A config file is text that people write: more than this is a mistake (1 MiB). */
const maxFile = 1024 * 1024
/** A secret is a token or a key, or at most a bundle of certificates (64 KiB). */
const maxSecret = 64 * 1024

type Loaded = Extract<Parsed, { config: object }>

/** Another file that the config names as `${file:...}`, by its absolute path. */
export interface Named {
  readonly file: string
  /** Its bytes, or why it cannot be read. */
  readonly content: Uint8Array | string
}

/** What a config was read from. */
export interface Origin {
  /** Of the file itself. */
  readonly bytes: Uint8Array
  readonly named: readonly Named[]
}

const fail = (file: string, message: string): never => {
  throw new ConfigError(file, [{ line: 0, column: 0, path: '', message }])
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'this is a folder',
  EACCES: 'permission denied'
}
/** Why a file cannot be read. */
export const reason = (error: unknown): string => {
  const { code = '', message } = error as NodeJS.ErrnoException
  return reasons[code] ?? message
}

/** Of a file: its bytes, or why it cannot be read. */
const content = (file: string): Uint8Array | string => {
  try {
    return readFileSync(file)
  } catch (error) {
    return reason(error)
  }
}

const utf8 = (bytes: Uint8Array): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes)

/** At most `maxFile` bytes of a file and one more, whatever its size is said to be. */
export const head = async (path: string): Promise<Buffer> => {
  const handle = await open(path)
  try {
    const buffer = Buffer.alloc(maxFile + 1)
    let length = 0
    while (length < buffer.length) {
      const { bytesRead } = await handle.read(buffer, length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    return buffer.subarray(0, length)
  } finally {
    await handle.close()
  }
}

/** `note` gets every file that is asked for, as often as it is. */
const valuesFor = (directory: string, env: NodeJS.ProcessEnv, note: (named: Named) => void): Values => ({
  env: name => env[name],
  file(path) {
    const file = resolve(directory, path)
    try {
      const bytes = content(file)
      note({ file, content: bytes })
      if (typeof bytes === 'string') throw new Error(bytes)
      if (bytes.length > maxSecret) throw new Error('it is larger than 64 KiB')
      return utf8(bytes).replace(/\r?\n$/, '') // editors end a file with a newline that nobody means
    } catch (error) {
      throw new Error(
        `expected a readable file at ${path}: ${error instanceof TypeError ? 'it is not UTF-8' : reason(error)}`
      )
    }
  }
})

/** Reads a config file. Throws ConfigError with everything that is wrong. */
export const load = async (
  path: string,
  env: NodeJS.ProcessEnv = process.env
): Promise<Loaded & { origin: Origin }> => {
  const bytes = await head(path).catch((error: unknown) => fail(path, `cannot be read: ${reason(error)}`))
  const named: Named[] = []
  const loaded = parseFile(path, bytes, one => named.push(one), env)
  return { ...loaded, origin: { bytes, named } }
}

/** What a file says that has these bytes. Throws ConfigError. `note` gets every other file that it names. */
export const parseFile = (
  path: string,
  bytes: Uint8Array,
  note: (named: Named) => void,
  env: NodeJS.ProcessEnv = process.env
): Loaded => {
  const directory = dirname(resolve(path))
  if (bytes.length > maxFile) fail(path, 'expected a file of 1 MiB at most')
  let text = ''
  try {
    text = utf8(bytes)
  } catch {
    fail(path, 'expected UTF-8')
  }
  const parsed = parse(text, directory, valuesFor(directory, env, note))
  if (parsed.config === undefined) throw new ConfigError(path, parsed.problems)
  return parsed
}

/** The first of the usual places that has a config, relative to `directory`. */
export const find = async (directory: string, places: readonly string[] = usualPlaces): Promise<string | undefined> => {
  for (const place of places) {
    const there = await access(resolve(directory, place)).then(
      () => true,
      () => false
    )
    if (there) return place
  }
  return undefined
}
