/**
 * Write side of a stream: what an exchange says is appended to the log before anybody reads it. A log that fails never
 * stops a call: from then on messages go to the reader that is there, without an id. A stream that another instance claimed is
 * that one's: whatever still comes here is dropped, and the reader gets what the log has.
 */
import { facts } from '../telemetry/events.ts'
import type { Follower } from './follow.ts'
import { type AppendOptions, Fenced, type Writer } from './stream-log.ts'
import { type Trickle, trickle } from './trickle.ts'

/** One message on its way into a stream. */
export interface Outgoing extends AppendOptions {
  /** JSON text on one line. Kept by the log: no slice of a larger buffer. */
  readonly data: Uint8Array
}

/** Where the messages come from. Undefined: nothing follows. Never rejects. */
export interface Source {
  next(): Promise<Outgoing | undefined>
}

export class Pump {
  readonly #source: Source
  readonly #behind: number
  #writer: Writer | undefined
  #follower: Follower | undefined
  readonly #trickle: Trickle
  #last: number
  #unlogged = 0
  #fenced = false
  /** Messages in a row that nobody was there to read. */
  #unread = 0

  /**
   * `behind`: how many messages the reader may lag before the source is not asked for more; after as many without a reader it
   * is asked slowly. Without a writer nothing is logged. `last`: number of the entry that the writer goes on after.
   */
  constructor(source: Source, writer: Writer | undefined, behind: number, unread: Trickle = trickle, last = 0) {
    this.#last = last
    this.#source = source
    this.#writer = writer
    this.#behind = behind
    this.#trickle = unread
  }

  /** Number of the last entry in the log. */
  get last(): number {
    return this.#last
  }

  /** Whether the log has everything so far. */
  get logged(): boolean {
    return this.#writer !== undefined
  }

  /** Whether another instance writes it now. */
  get fenced(): boolean {
    return this.#fenced
  }

  /** Messages that the log refused; the first may have come to stand in it all the same. */
  get unlogged(): number {
    return this.#unlogged
  }

  /** The connection that reads along on this instance, in place of the one before. */
  attach(follower: Follower): void {
    if (this.#fenced) return
    this.#follower = follower
    follower.attend()
    if (this.#writer === undefined) follower.unlog(this.#last)
  }

  /** Runs until the source has nothing more. Never rejects. */
  async run(): Promise<void> {
    for (;;) {
      const outgoing = await this.#source.next()
      if (outgoing === undefined) break
      await this.#write(outgoing)
      await this.#follower?.behind(this.#last, this.#behind)
      if (this.#follower?.reads === true) this.#unread = 0
      else if (++this.#unread > this.#behind) await this.#trickle.turn(outgoing.data.byteLength)
    }
    try {
      await this.#writer?.end()
    } catch (error) {
      this.#logFailed(error)
    }
    this.#follower?.bypassEnd()
  }

  async #write(outgoing: Outgoing): Promise<void> {
    if (this.#writer !== undefined) {
      try {
        this.#last = await this.#writer.append(outgoing.data, outgoing)
        return
      } catch (error) {
        this.#logFailed(error)
      }
    }
    if (this.#fenced) return
    this.#unlogged++
    this.#follower?.bypass(outgoing.data)
  }

  #logFailed(error: unknown): void {
    this.#writer = undefined
    if (error instanceof Fenced) {
      this.#yield()
      return
    }
    this.#follower?.unlog(this.#last)
    facts.drop.publish({ reason: 'log_failed' })
    facts.notice.publish({
      level: 'warn',
      text: 'a stream cannot be written to the log and goes on without ids',
      error
    })
  }

  #yield(): void {
    this.#fenced = true
    this.#follower?.bypassEnd()
    this.#follower = undefined
    facts.notice.publish({ level: 'warn', text: 'another instance took this one for dead and goes on with its stream' })
  }
}
