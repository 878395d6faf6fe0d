/**
 * Streams of calls that run on another instance and are read here: when that instance dies they are gone on with, or each of
 * their requests ends in one error, so that nobody waits for nothing (REP-03). Whoever claims a stream first does it; the dead
 * one, should it come back, writes nothing more.
 */
import { GatewayError } from '../errors.ts'
import type { InstanceId, Presence } from '../instances/presence.ts'
import { errorMessage } from '../protocol/make.ts'
import type { Claimed, StreamKey, StreamLog } from '../streams/stream-log.ts'
import { kept } from './outgoing.ts'
import { idsOf } from './post-facts.ts'

export interface OrphansOptions {
  readonly log: StreamLog
  readonly presence: Presence
  /** Goes on with a call; false when it cannot. */
  readonly goOn: (key: StreamKey, claimed: Claimed) => boolean
}

/** How often (ms) it is asked whether those that write still run. */
const everyMs = 1_500

export class Orphans {
  readonly #options: OrphansOptions
  readonly #read = new Set<StreamKey>()
  #timer: NodeJS.Timeout | undefined
  #looking = false

  constructor(options: OrphansOptions) {
    this.#options = options
  }

  /** The stream is read here and written elsewhere, until the function that it gives is called. */
  watch(key: StreamKey): () => void {
    this.#read.add(key)
    this.#timer ??= setInterval(() => void this.#look(), everyMs).unref()
    return () => {
      this.#read.delete(key)
      if (this.#read.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }

  /** Never rejects: what cannot be asked now is asked the next time. */
  async #look(): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    const alive = new Map<InstanceId, Promise<boolean>>()
    await Promise.allSettled(
      [...this.#read].map(async key => {
        const owner = await this.#options.log.owner(key)
        if (owner === undefined) return
        if (!alive.has(owner)) alive.set(owner, this.#options.presence.alive(owner))
        if (!(await alive.get(owner))) await this.#end(key, owner)
      })
    )
    this.#looking = false
  }

  async #end(key: StreamKey, owner: InstanceId): Promise<void> {
    const { log, presence } = this.#options
    const claimed = await log.claim(key, owner, presence.id)
    if (claimed === undefined || this.#options.goOn(key, claimed)) return
    const error = new GatewayError(
      'instance_gone',
      'the instance that ran the call is gone; whether it was done is not known'
    )
    for (const id of idsOf(claimed.facts)) await claimed.writer.append(kept(errorMessage(error, id)))
    await claimed.writer.end()
  }
}
