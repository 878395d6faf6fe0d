/** One task of 2026-07-28 (extensions/tasks, "Tasks"): a call whose client comes back for what became of it, and for what it asks. */
import { randomUUID } from 'node:crypto'
import type { GatewayError } from '../../errors.ts'
import type { Message } from '../../protocol/message.ts'
import { textOf } from '../../protocol/message.ts'
import { value } from '../../protocol/write.ts'
import type { Asked } from './asked.ts'
import { Json } from './response.ts'
import type { Running } from './running.ts'

export type Status = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

export interface ModernTaskOptions {
  /** Whose it is: key of a principal. */
  readonly owner: string
  /** Milliseconds: from its creation, and between two questions for its state. */
  readonly ttl: number
  readonly pollInterval: number
  /** Whether a result of so many characters may be kept. */
  readonly room: (size: number) => boolean
  /** It is something else than before. Must not throw. */
  readonly changed: (task: ModernTask) => void
}

/** A question of the handler. */
interface Input {
  readonly asked: Asked
  /** The member of `inputRequests`. */
  readonly request: { readonly method: string; readonly params?: unknown }
}

export class ModernTask {
  readonly id = randomUUID()
  readonly owner: string
  readonly expires: number
  /** Whether its outcome was told to who asked for it. */
  fetched = false
  readonly #running: Running
  readonly #options: ModernTaskOptions
  readonly #created = new Date().toISOString()
  #updated = this.#created
  #status: Status = 'working'
  #message: string | undefined
  /** Open ones by their keys, and the keys of all. */
  readonly #inputs = new Map<string, Input>()
  readonly #keys = new Set<string>()
  /** `"result":...` or `"error":...`. */
  #outcome = ''

  /** `running`: the call. */
  constructor(running: Running, options: ModernTaskOptions) {
    this.#running = running
    this.#options = options
    this.owner = options.owner
    this.expires = Date.now() + options.ttl
  }

  get status(): Status {
    return this.#status
  }

  get isOver(): boolean {
    return this.#status === 'completed' || this.#status === 'failed' || this.#status === 'cancelled'
  }

  /** Characters that are kept for whoever asks for it. */
  get size(): number {
    return this.#outcome.length
  }

  /** As its creation tells it. */
  get listed(): Readonly<Record<string, unknown>> {
    const { ttl, pollInterval } = this.#options
    return {
      taskId: this.id,
      status: this.#status,
      ...(this.#message === undefined ? {} : { statusMessage: this.#message }),
      createdAt: this.#created,
      lastUpdatedAt: this.#updated,
      ttlMs: ttl,
      pollIntervalMs: pollInterval
    }
  }

  /** The same with what there is to know in its state ("Task Status"). */
  get detailed(): Json {
    const listed = JSON.stringify(this.listed).slice(0, -1)
    if (this.#status === 'input_required') {
      const requests = Object.fromEntries([...this.#inputs].map(([key, { request }]) => [key, request]))
      return new Json(`${listed},"inputRequests":${JSON.stringify(requests)}}`)
    }
    return new Json(`${listed}${this.#outcome === '' ? '' : `,${this.#outcome}`}}`)
  }

  /** A message of the call. What it tells on the way has no place in a task ("Task Status Notifications"). */
  take(message: Message): void {
    if (message.kind === 'response') this.#respond(message)
    else if (message.kind === 'request') this.#ask(message)
  }

  /** The call failed where no response says so. */
  fail({ rpcCode, message, data }: GatewayError): void {
    this.#end('failed', `"error":${JSON.stringify({ code: rpcCode, message, data })}`, message)
  }

  said(message: string): void {
    if (this.isOver || this.#message === message) return
    this.#message = message
    this.#touch()
  }

  /** Answers by the keys of questions. Unknown keys, and those that were answered, are none of its business. */
  update(responses: Readonly<Record<string, unknown>>): void {
    for (const [key, response] of Object.entries(responses)) {
      if (response !== null) this.#inputs.get(key)?.asked.resolve(response)
    }
  }

  /** It ends now; what the handler still does is of no consequence. */
  cancel(text: string): void {
    if (this.isOver) return
    this.#end('cancelled', '', text)
    this.#running.queue.cancel(text)
  }

  /** Nobody waits any more for the answer to this request of the handler. */
  answered(id: string): void {
    for (const [key, { asked }] of this.#inputs) {
      if (asked.id !== id) continue
      this.#inputs.delete(key)
      if (this.#inputs.size === 0) this.#become('working')
      else if (!this.isOver) this.#touch()
      return
    }
  }

  #ask(request: Message): void {
    const asked = this.#running.asked.get(request.id!)
    if (asked === undefined) return
    const { method, params } = value(request) as { method: string; params?: Record<string, unknown> }
    // What sessions tell elicitations apart by.
    const { elicitationId: _, ...rest } = params ?? {}
    this.#inputs.set(this.#unused(asked.key), { asked, request: { method, ...(params && { params: rest }) } })
    if (this.#status === 'input_required') this.#touch()
    else this.#become('input_required')
  }

  /** A key stands for one question as long as the task lives ("Task Update Requests"). */
  #unused(key: string): string {
    let own = key
    for (let i = 2; this.#keys.has(own); i++) own = `${key}-${i}`
    this.#keys.add(own)
    return own
  }

  #respond({ source, scanned }: Message): void {
    const error = textOf(source, scanned.top, 'error')
    if (error !== undefined) {
      this.#end('failed', `"error":${error}`, (JSON.parse(error) as { message: string }).message)
      return
    }
    const result = textOf(source, scanned.top, 'result')!
    const more = /^\{\s*\}$/.test(result) ? '' : ','
    if (this.#options.room(result.length)) {
      this.#end('completed', `"result":{"resultType":"complete"${more}${result.slice(1)}`)
    } else {
      const message = 'The results of tasks that are kept leave no room for this one.'
      this.#end('failed', `"error":${JSON.stringify({ code: -32603, message })}`, message)
    }
  }

  #end(status: Status, outcome: string, message?: string): void {
    if (this.isOver) return
    this.#outcome = outcome
    if (message !== undefined) this.#message = message
    this.#inputs.clear()
    this.#become(status)
  }

  #become(status: Status): void {
    if (this.#status === status || this.isOver) return
    this.#status = status
    this.#touch()
  }

  #touch(): void {
    this.#updated = new Date().toISOString()
    this.#options.changed(this)
  }
}
