/** Follows a config file, and the files that it names (C2, C3). */
import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import type { Config } from './config.ts'
import { Following, type FollowingOptions, type Look } from './following.ts'
import { head, type Named, type Origin, parseFile, reason } from './load.ts'
import { ConfigError } from './problem.ts'

export interface WatchOptions extends Pick<FollowingOptions<Look>, 'settleMs' | 'missingMs' | 'pollMs'> {
  /** What runs already. */
  readonly from: Origin
  /** The file says something else; rejects with a ConfigError when that is no config. */
  readonly changed: (config: Promise<Config>) => void
  readonly env?: NodeJS.ProcessEnv
}

interface FileLook extends Look {
  readonly bytes: Uint8Array
  /** Why it is missing. */
  readonly reason: string
}

const nothing = new Uint8Array(0)

export class ConfigWatch {
  readonly #path: string
  readonly #options: WatchOptions
  readonly #following: Following<FileLook>
  /** The files that the config names. */
  #files: readonly string[]

  constructor(path: string, options: WatchOptions) {
    const { from, settleMs, missingMs, pollMs } = options
    this.#path = resolve(path)
    this.#options = options
    this.#files = from.named.map(({ file }) => file)
    const name = basename(this.#path)
    this.#following = new Following({
      folder: dirname(this.#path),
      signature: () => this.#signature(),
      matters: changed => changed === name,
      look: () => this.#look(),
      take: look => this.#take(look),
      ...(settleMs === undefined ? {} : { settleMs }),
      ...(missingMs === undefined ? {} : { missingMs }),
      ...(pollMs === undefined ? {} : { pollMs })
    })
    void this.#following.begin(hashOf(from.bytes, from.named))
  }

  /** Reads it now, whether or not it changed. */
  force(): void {
    this.#following.force()
  }

  close(): void {
    this.#following.close()
  }

  async #take(look: FileLook): Promise<void> {
    const named: Named[] = []
    const config = this.#parsed(look, named)
    this.#options.changed(config)
    await config.catch(() => {})
    if (look.missing) return
    // What was read for the config is what was taken, whatever stands there by now.
    this.#files = named.map(({ file }) => file)
    this.#following.retake(hashOf(look.bytes, named))
  }

  async #parsed({ missing, bytes, reason }: FileLook, named: Named[]): Promise<Config> {
    if (!missing) return parseFile(this.#path, bytes, one => named.push(one), this.#options.env).config
    throw new ConfigError(this.#path, [{ line: 0, column: 0, path: '', message: `cannot be read: ${reason}` }])
  }

  async #look(): Promise<FileLook> {
    try {
      const bytes = await head(this.#path)
      return { missing: false, bytes, reason: '', hash: hashOf(bytes, await this.#named()) }
    } catch (error) {
      return { missing: true, bytes: nothing, reason: reason(error), hash: `missing: ${reason(error)}` }
    }
  }

  #named(): Promise<Named[]> {
    const read = async (file: string): Promise<Named> => ({
      file,
      content: await readFile(file).catch((error: unknown) => reason(error))
    })
    return Promise.all(this.#files.map(read))
  }

  /** What is at the end of every symbolic link. */
  async #signature(): Promise<string> {
    const stats = [this.#path, ...this.#files].map(file =>
      stat(file, { bigint: true }).then(
        ({ dev, ino, size, mtimeNs, ctimeNs }) => `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`,
        (error: unknown) => reason(error)
      )
    )
    return (await Promise.all(stats)).join('\n')
  }
}

function hashOf(bytes: Uint8Array, named: readonly Named[]): string {
  const digest = (content: Uint8Array | string): Buffer => createHash('sha256').update(content).digest()
  const all = createHash('sha256').update(digest(bytes))
  for (const { file, content } of named) all.update(digest(file)).update(digest(content))
  return all.digest('base64')
}
