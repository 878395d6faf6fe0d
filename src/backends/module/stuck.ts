/** Handlers that run on long after their call ended: named in log and metrics, for nothing else can be done about them. */
import { facts } from '../../telemetry/events.ts'
import type { Running } from './running.ts'

/** Milliseconds after the end of a call. */
const patience = 10_000

export class Stuck {
  readonly #backend: string
  /** When each is told, in this order. */
  readonly #due = new Map<Running, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(backend: string) {
    this.#backend = backend
  }

  /** The call was given up, its handler has not settled. */
  add(running: Running): void {
    this.#due.set(running, Date.now() + patience)
    this.#arm()
  }

  /** The handler has settled. */
  delete(running: Running): void {
    this.#due.delete(running)
    if (this.#due.size === 0) this.close()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#due.clear()
  }

  #arm(): void {
    const [first] = this.#due.values()
    if (first === undefined) return
    this.#timer ??= setTimeout(() => this.#tell(), Math.max(0, first - Date.now())).unref()
  }

  #tell(): void {
    this.#timer = undefined
    for (const [running, due] of this.#due) {
      if (due > Date.now()) break
      this.#due.delete(running)
      tellStuck(
        this.#backend,
        running.handler!,
        `still runs ${patience / 1_000} s after its call ended: it should heed its signal`
      )
    }
    this.#arm()
  }
}

export function tellStuck(backend: string, name: string, what: string): void {
  facts.drop.publish({ reason: 'stuck_handler', backend, name })
  facts.notice.publish({ level: 'warn', text: `the handler of "${name}" ${what}`, backend })
}
