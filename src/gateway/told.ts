/** What is told once, however often it is found again: lists are read for every audience, and whenever they change. */
import { facts, type NoticeFact } from '../telemetry/events.ts'

/** Notices that are remembered; then all are forgotten, and may be told once more. */
const maxTold = 200

export class Told {
  readonly #told = new Set<string>()

  tell(notice: NoticeFact): void {
    const key = JSON.stringify([notice.text, notice.backend, notice.data])
    if (this.#told.has(key)) return
    if (this.#told.size >= maxTold) this.#told.clear()
    this.#told.add(key)
    facts.notice.publish(notice)
  }
}
