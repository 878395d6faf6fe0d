/**
 * Progress tokens of what several upstreams ask one client: two of them may choose the same. The client gets tokens that are
 * the gateway's own, and what it says of its progress goes to the upstream that waits for it, and to no other
 * (basic/utilities/progress).
 */
import type { Link } from '../backends/backend.ts'
import { withMeta, withParam } from '../protocol/edit.ts'
import { type Message, stringParam, textMeta } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'

interface Token {
  readonly live: Live
  readonly link: Link
  /** JSON text, as the upstream wrote it. */
  readonly token: string
  /** A task's progress goes on after the response (basic/utilities/progress, behavior 3). */
  readonly task: boolean
}

/** Tokens of tasks that are kept after the response. */
const maxKept = 256

export class AskTokens {
  readonly #open = new Map<string, Token>()
  readonly #kept = new Map<string, Token>()

  /** The request with `label` in place of its token; without a token it stays as it is. */
  take(request: Message, label: string, live: Live, link: Link): Message {
    const token = textMeta(request, 'progressToken')
    if (token === undefined || !/^["\d-]/.test(token)) return request
    const task = request.scanned.params?.keys.includes('task') ?? false
    this.#open.set(label, { live, link, token, task })
    return withMeta(request, 'progressToken', `"${label}"`)
  }

  /** The client's `notifications/progress`, for the link that waits for it; undefined when none does. */
  find(notice: Message, live: Live): { readonly link: Link; readonly notice: Message } | undefined {
    const label = stringParam(notice, 'progressToken') ?? ''
    const found = this.#open.get(label) ?? this.#kept.get(label)
    if (found?.live !== live) return undefined
    return { link: found.link, notice: withParam(notice, 'progressToken', found.token) }
  }

  /** The request was answered, or given up. */
  close(label: string): void {
    const token = this.#open.get(label)
    if (token === undefined) return
    this.#open.delete(label)
    if (!token.task) return
    this.#kept.set(label, token)
    if (this.#kept.size > maxKept) this.#kept.delete(this.#kept.keys().next().value!)
  }

  /** The session, or one of its links, is over. */
  forget(live: Live, link?: Link): void {
    for (const [label, token] of this.#kept) {
      if (token.live === live && (link === undefined || token.link === link)) this.#kept.delete(label)
    }
  }
}
