/** Why an upstream is not read on for now: its reader is behind, or others have their turn. It is read while neither holds. */
import { type LoopShare, loopShare } from './loop-share.ts'

/** What can be read on or not. */
export interface Valve {
  pause(): void
  resume(): void
}

/** An upstream that sends less than this (bytes) in a turn of the event loop never waits for others. */
const freeBytes = 4_096

export class Flow {
  readonly #valve: Valve
  readonly #share: LoopShare
  #held = false
  #resting = false
  #turn = 0
  /** That came in this turn. */
  #bytes = 0

  constructor(valve: Valve, share: LoopShare = loopShare) {
    this.#valve = valve
    this.#share = share
  }

  /** The reader is behind. */
  hold(): void {
    this.#held = true
    this.#valve.pause()
  }

  /** The reader has caught up. */
  release(): void {
    this.#held = false
    if (!this.#resting) this.#valve.resume()
  }

  /** So many bytes were read and dealt with. */
  took(bytes: number): void {
    const turn = this.#share.turn()
    if (turn !== this.#turn) {
      this.#turn = turn
      this.#bytes = 0
    }
    this.#bytes += bytes
    if (this.#bytes < freeBytes || this.#resting || !this.#share.enough(this.#rested)) return
    this.#resting = true
    this.#valve.pause()
  }

  readonly #rested = (): void => {
    this.#resting = false
    if (!this.#held) this.#valve.resume()
  }
}
