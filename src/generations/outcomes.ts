/** How reloading the config went, for operators. */

/** `unchanged`: nothing in it is to be done now. `refused`: the one before goes on. */
export type ReloadOutcome = 'applied' | 'unchanged' | 'refused'

export interface LastReload {
  readonly outcome: ReloadOutcome
  /** Milliseconds of the clock. */
  readonly at: number
  /** Why it was refused. No secrets. */
  readonly reason?: string
}

export class Outcomes {
  readonly counts: Readonly<Record<ReloadOutcome, number>> = { applied: 0, unchanged: 0, refused: 0 }
  /** Of the config that runs: when it was taken, in milliseconds of the clock. */
  loadedAt = Date.now()
  last: LastReload | undefined
  /** Settings that the file has and that wait for a restart. */
  restart: readonly string[] = []

  add(outcome: ReloadOutcome, reason?: string): void {
    ;(this.counts as Record<ReloadOutcome, number>)[outcome]++
    const at = Date.now()
    this.last = { outcome, at, ...(reason === undefined ? {} : { reason }) }
    if (outcome !== 'refused') this.loadedAt = at
  }

  /** For `/readyz?verbose`. */
  get status(): object {
    const { last, restart } = this
    return {
      loadedAt: new Date(this.loadedAt).toISOString(),
      ...(last === undefined ? {} : { lastReload: { ...last, at: new Date(last.at).toISOString() } }),
      ...(restart.length === 0 ? {} : { needsRestart: restart })
    }
  }
}
