/**
 * Follows a config file. What stands in it is taken once two looks at it agree, so that a file that is being written is not
 * taken half (C3). Changes are heard of by the folder, where editors and Kubernetes put another file in the place; looking
 * now and then is the net for file systems that tell nothing.
 */
import { createHash } from 'node:crypto'
import { type FSWatcher, watch } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from './config.ts'
import { head, type Origin, parseFile, reason } from './load.ts'
import { ConfigError } from './problem.ts'

export interface WatchOptions {
  /** What runs already. */
  readonly from: Origin
  /** The file says something else; rejects with a ConfigError when that is no config. */
  readonly changed: (config: Promise<Config>) => void
  /** Milliseconds between two looks that must agree. Default 200. */
  readonly settleMs?: number
  /** How long a file must be missing, in milliseconds, until that is taken for a change. Default 2,000. */
  readonly missingMs?: number
  /** Milliseconds between looks when nothing is heard. Default 2,000. */
  readonly pollMs?: number
  readonly env?: NodeJS.ProcessEnv
}

/** What stands there at one moment; `bytes` undefined: it cannot be read, for that reason. */
interface Look {
  readonly bytes: Uint8Array | undefined
  readonly reason: string
  /** Tells it from other looks. */
  readonly hash: string
}

export class ConfigWatch {
  readonly #path: string
  readonly #options: WatchOptions
  readonly #closed = new AbortController()
  readonly #poll: NodeJS.Timeout
  #watcher: FSWatcher | undefined
  /** The folder that is watched, as the system knows it. */
  #folder = ''
  /** The files that the config names. */
  #files: readonly string[]
  /** As the files were at the last look that was taken, without reading them. */
  #stats = ''
  #taken = ''
  #settling = false
  #again = false
  #forced = false

  constructor(path: string, options: WatchOptions) {
    this.#path = resolve(path)
    this.#options = options
    this.#files = options.from.files
    this.#poll = setInterval(() => void this.#tick(), options.pollMs ?? 2_000).unref()
    void this.#begin()
  }

  /** Reads it now, whether or not it changed. */
  force(): void {
    this.#forced = true
    this.#settle()
  }

  close(): void {
    this.#closed.abort()
    clearInterval(this.#poll)
    this.#watcher?.close()
  }

  async #begin(): Promise<void> {
    this.#taken = (await this.#hashed(this.#options.from.bytes)).hash
    await this.#tick()
    // It may have changed since it was read.
    this.#settle()
  }

  async #tick(): Promise<void> {
    await this.#watchFolder()
    if ((await this.#statAll()) !== this.#stats) this.#settle()
  }

  /** Again when the folder is another one under the same name. */
  async #watchFolder(): Promise<void> {
    const folder = dirname(this.#path)
    const found = await stat(folder).then(
      ({ dev, ino }) => `${dev} ${ino}`,
      () => ''
    )
    if (this.#closed.signal.aborted || (found === this.#folder && this.#watcher !== undefined)) return
    this.#watcher?.close()
    this.#watcher = undefined
    this.#folder = found
    if (found === '') return
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => void this.#heard(name))
      watcher.on('error', () => {
        watcher.close()
        if (this.#watcher === watcher) this.#watcher = undefined
      })
      this.#watcher = watcher
    } catch {
      // No watches left: there are the looks now and then.
    }
  }

  /** Something happened in the folder. */
  async #heard(name: string | null): Promise<void> {
    if (name === basename(this.#path)) this.#settle()
    else if ((await this.#statAll()) !== this.#stats) this.#settle()
  }

  #settle(): void {
    this.#again = true
    if (this.#settling || this.#closed.signal.aborted) return
    this.#settling = true
    this.#take()
      .catch(() => {})
      .finally(() => {
        this.#settling = false
        if (this.#again) this.#settle()
      })
  }

  async #take(): Promise<void> {
    const { settleMs = 200, missingMs = 2_000 } = this.#options
    const { signal } = this.#closed
    const begun = performance.now()
    let before: Look | undefined
    let stats = ''
    for (;;) {
      this.#again = false
      stats = await this.#statAll()
      const look = await this.#look()
      const missing = look.bytes === undefined && performance.now() - begun < missingMs
      if (look.hash === before?.hash && !missing) break
      before = look
      await sleep(settleMs, undefined, { signal, ref: false })
    }
    this.#stats = stats
    const look = before!
    if (look.hash === this.#taken && !this.#forced) return
    this.#forced = false
    this.#taken = look.hash
    if (signal.aborted) return
    const config = this.#parsed(look)
    this.#options.changed(config)
    await config.catch(() => {})
  }

  async #parsed({ bytes, reason }: Look): Promise<Config> {
    if (bytes === undefined) {
      const message = `cannot be read: ${reason}`
      throw new ConfigError(this.#path, [{ line: 0, column: 0, path: '', message }])
    }
    const files: string[] = []
    try {
      return parseFile(this.#path, bytes, file => files.push(file), this.#options.env).config
    } finally {
      this.#files = files
      // What it names besides counts from now on.
      this.#taken = (await this.#hashed(bytes)).hash
      this.#stats = await this.#statAll()
    }
  }

  async #look(): Promise<Look> {
    try {
      return await this.#hashed(await head(this.#path))
    } catch (error) {
      return { bytes: undefined, reason: reason(error), hash: `missing ${reason(error)}` }
    }
  }

  async #hashed(bytes: Uint8Array): Promise<Look> {
    const hash = createHash('sha256').update(bytes)
    for (const file of this.#files) {
      const content = await readFile(file).catch((error: unknown) => reason(error))
      hash.update('\0').update(createHash('sha256').update(content).digest())
    }
    return { bytes, reason: '', hash: hash.digest('base64') }
  }

  /** Of the file and of those that it names: what is at the end of every symbolic link. */
  async #statAll(): Promise<string> {
    const stats = [this.#path, ...this.#files].map(file =>
      stat(file, { bigint: true }).then(
        ({ dev, ino, size, mtimeNs, ctimeNs }) => `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`,
        (error: unknown) => reason(error)
      )
    )
    return (await Promise.all(stats)).join('\n')
  }
}
