/** Which era an upstream has, found by asking it, one question at a time (decisions: "Which era a backend has"). */
import { GatewayError } from '../errors.ts'
import type { Discovered } from '../protocol/discovered.ts'
import type { Era } from '../protocol/version.ts'
import { facts } from '../telemetry/events.ts'
import type { Clock } from './clock.ts'

export type EraOption = 'auto' | 'legacy' | 'modern'

/** Of a backend's identity: links of one era are none of the other. */
export const said = (option: EraOption | undefined): readonly EraOption[] => (option === 'modern' ? [option] : [])

export type Verdict = { readonly era: 'legacy' } | { readonly era: 'modern'; readonly discovered: Discovered }

export const legacyVerdict: Verdict = { era: 'legacy' }

/** How long a verdict holds, milliseconds. A modern one at least as long, and longer when the upstream says so. */
const legacyMs = 600_000
const modernMs = 60_000
const longestMs = 3_600_000

/** What one backend is taken for. */
export class EraOf {
  readonly #backend: string
  readonly #option: EraOption
  readonly #clock: Pick<Clock, 'now'>
  #verdict: Verdict | undefined
  #until = 0
  #asking: Promise<Verdict> | undefined
  #told: string | undefined

  constructor(backend: string, option: EraOption, clock: Pick<Clock, 'now'>) {
    this.#backend = backend
    this.#option = option
    this.#clock = clock
  }

  /** The era that it was said to have. */
  get fixed(): Era | undefined {
    return this.#option === 'auto' ? undefined : this.#option
  }

  /** Whether it can turn out to be of the other era. */
  get isOpen(): boolean {
    return this.fixed === undefined
  }

  /** What holds now; undefined when it has to be asked. */
  get verdict(): Verdict | undefined {
    if (this.#option === 'legacy') return legacyVerdict
    return this.#clock.now() < this.#until ? this.#verdict : undefined
  }

  /**
   * What it is. `ask` finds out, and rejects when nothing can be said (the upstream does not answer): then nothing is
   * remembered. However many wait, it is asked once. A legacy verdict is remembered by {@link holds} alone.
   */
  async find(ask: () => Promise<Verdict>): Promise<Verdict> {
    const known = this.verdict
    if (known !== undefined) return known
    this.#asking ??= ask().finally(() => {
      this.#asking = undefined
    })
    const verdict = await this.#asking
    if (verdict.era === 'modern') {
      this.holds(verdict)
    } else if (this.#option === 'modern') {
      const text = `backend "${this.#backend}" does not speak a modern version, and its era is set to modern`
      throw new GatewayError('backend_unavailable', text, { backend: this.#backend })
    }
    return verdict
  }

  /** It was seen to be that. */
  holds(verdict: Verdict): void {
    if (this.#option === 'legacy') return
    this.#verdict = verdict
    const ms = verdict.era === 'legacy' ? legacyMs : Math.min(longestMs, Math.max(modernMs, verdict.discovered.ttlMs))
    this.#until = this.#clock.now() + ms
    const text = verdict.era === 'legacy' ? 'it is a legacy server' : `it speaks ${verdict.discovered.version}`
    if (this.#told === text) return
    this.#told = text
    facts.notice.publish({ level: 'info', text, backend: this.#backend })
  }

  /** It does not behave like that any more: it is asked again. */
  doubt(): void {
    this.#until = 0
  }
}
