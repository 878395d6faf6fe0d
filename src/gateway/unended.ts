/**
 * Streams of calls that are over, of which the log could not be told: it is, as soon as it answers, so that whoever reads them on
 * another instance does not wait for ever. What went past the log cannot be had again: then the last message is one error.
 */
import { GatewayError } from '../errors.ts'
import type { InstanceId } from '../instances/presence.ts'
import { errorMessage } from '../protocol/make.ts'
import type { Pump } from '../streams/pump.ts'
import { Retry } from '../streams/retry.ts'
import type { StreamKey, StreamLog } from '../streams/stream-log.ts'
import { kept } from './outgoing.ts'

export interface UnendedOptions {
  readonly log: StreamLog
  readonly instance: InstanceId
  /** How long (ms) a stream would have been kept; later nobody comes back for it. */
  readonly retainMs: number
}

type Said = Pick<Pump, 'last' | 'unlogged'>

/** Requests that the log has no last message of; undefined before that is known. */
interface Left {
  ids: string[] | undefined
}

export class Unended {
  readonly #options: UnendedOptions
  readonly #tries = new Set<Retry>()

  constructor(options: UnendedOptions) {
    this.#options = options
  }

  end(key: StreamKey, said: Said, ids: readonly string[]): void {
    const retry = new Retry()
    const until = performance.now() + this.#options.retainMs
    const left: Left = { ids: undefined }
    this.#tries.add(retry)
    const tell = async (): Promise<void> => {
      try {
        await this.#tell(key, said, ids, left)
      } catch {
        if (performance.now() < until && this.#tries.has(retry)) return retry.later(() => void tell())
      }
      this.#tries.delete(retry)
    }
    void tell()
  }

  close(): void {
    for (const retry of this.#tries) retry.stop()
    this.#tries.clear()
  }

  async #tell(key: StreamKey, said: Said, ids: readonly string[], left: Left): Promise<void> {
    const { log, instance } = this.#options
    // A writer of our own in place of the first: whatever that one sent late does not come after this.
    const claimed = await log.claim(key, instance, instance)
    if (claimed === undefined) return
    // One message that was taken for refused came to stand in the log after all: then it has everything.
    left.ids ??= said.unlogged === claimed.last - said.last ? [] : [...ids]
    for (let id = left.ids[0]; id !== undefined; id = left.ids[0]) {
      await claimed.writer.append(kept(errorMessage(goneError(), id)))
      left.ids.shift()
    }
    await claimed.writer.end()
  }
}

const goneError = (): GatewayError => new GatewayError('response_gone', 'the response could not be kept')
