/** What the backends did for each call: the truth that clients are compared with. */

/** One step of what a backend does for a call. */
export type Step =
  | { readonly kind: 'say'; readonly count: number; readonly pad: number; readonly delay: number }
  | { readonly kind: 'ask'; readonly delay: number }

export interface Script {
  readonly steps: readonly Step[]
  readonly end: 'answer' | 'refuse' | 'never'
}

/** One call as the backend had it. */
export class Record {
  readonly uid: string
  readonly script: Script
  /** How often it reached the backend. */
  starts = 0
  /** Numbers of the progress messages that were sent, 1 to this. */
  said = 0
  asks = 0
  /** What the client's answers were, in order. */
  readonly answers: unknown[] = []
  /** The response was sent. */
  answered = false
  /** The backend was told that the call is cancelled. */
  cancelled = false
  /** The script runs no more. */
  over = false
  /** Told at every step. */
  onStep: (() => void) | undefined

  constructor(uid: string, script: Script) {
    this.uid = uid
    this.script = script
  }
}

export type Ledger = Map<string, Record>
