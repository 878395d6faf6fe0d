/**
 * Follows what stands in files. It is taken once two looks at it agree, so that what is being written is not taken half (C3).
 * Changes are heard of by the folder, where editors and Kubernetes put another file in the place; looking now and then is the
 * net for file systems that tell nothing.
 */
import { type FSWatcher, watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** What stands there at one moment. */
export interface Look {
  /** Tells it from other looks. */
  readonly hash: string
  /** What is followed is not there, or cannot be read. */
  readonly missing: boolean
}

export interface FollowingOptions<L extends Look> {
  readonly folder: string
  /** Cheaper than a look: when it is what it was, no look is needed. Never rejects. */
  readonly signature: () => Promise<string>
  /** Whether an event of this file deserves a look even so. */
  readonly matters?: (name: string) => boolean
  /** Never rejects. */
  readonly look: () => Promise<L>
  /** Something else stands there than what was taken last, or it was forced. Rejections are nobody's business. */
  readonly take: (look: L) => Promise<void>
  /** Milliseconds between two looks that must agree. Default 200. */
  readonly settleMs?: number
  /** How long it must be missing, in milliseconds, until that is taken for a change. Default 2,000. */
  readonly missingMs?: number
  /** Milliseconds between signatures when nothing is heard. Default 2,000. */
  readonly pollMs?: number
}

export class Following<L extends Look> {
  readonly #options: FollowingOptions<L>
  readonly #closed = new AbortController()
  readonly #poll: NodeJS.Timeout
  #watcher: FSWatcher | undefined
  /** The folder that is watched, as the system knows it. */
  #folder = ''
  /** At the last look. */
  #signature = ''
  #taken = ''
  #settling = false
  #again = false
  #forced = false

  constructor(options: FollowingOptions<L>) {
    this.#options = options
    this.#poll = setInterval(() => void this.#tick(), options.pollMs ?? 2_000).unref()
  }

  /** `taken`: the hash of what is known already. */
  async begin(taken: string): Promise<void> {
    this.#taken = taken
    await this.#watchFolder()
    // It may have changed since.
    this.#settle()
  }

  /** What was taken last has another hash now: what else it consists of is known only since. */
  retake(hash: string): void {
    this.#taken = hash
  }

  /** Taken, whether or not it changed. */
  force(): void {
    this.#forced = true
    this.#settle()
  }

  close(): void {
    this.#closed.abort()
    clearInterval(this.#poll)
    this.#watcher?.close()
  }

  async #tick(): Promise<void> {
    await this.#watchFolder()
    if ((await this.#options.signature()) !== this.#signature) this.#settle()
  }

  /** Again when the folder is another one under the same name. */
  async #watchFolder(): Promise<void> {
    const { folder } = this.#options
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

  async #heard(name: string | null): Promise<void> {
    const { matters, signature } = this.#options
    if (name !== null && matters?.(name) === true) this.#settle()
    else if ((await signature()) !== this.#signature) this.#settle()
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
    const { signature, look, take, settleMs = 200, missingMs = 2_000 } = this.#options
    const { signal } = this.#closed
    const begun = performance.now()
    let before: L | undefined
    for (;;) {
      this.#again = false
      const at = await signature()
      const seen = await look()
      const early = seen.missing && performance.now() - begun < missingMs
      if (seen.hash === before?.hash && !early) {
        this.#signature = at
        break
      }
      before = seen
      await sleep(settleMs, undefined, { signal, ref: false })
    }
    if (signal.aborted || (before.hash === this.#taken && !this.#forced)) return
    this.#forced = false
    this.#taken = before.hash
    await take(before)
  }
}
