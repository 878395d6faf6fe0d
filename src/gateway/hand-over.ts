/**
 * A modern request whose call waits for it at another instance is handed over there whole, and what comes of it is told here.
 * Both ways go through the log: nothing is lost between them. Whoever of the two dies, the other notices.
 */
import { randomUUID } from 'node:crypto'
import { GatewayError } from '../errors.ts'
import type { InstanceId, Presence } from '../instances/presence.ts'
import { errorMessage } from '../protocol/make.ts'
import { readMessage } from '../protocol/message.ts'
import { line } from '../protocol/write.ts'
import { answer } from '../sessions/answer.ts'
import { Inbox } from '../streams/inbox.ts'
import type { Reader } from '../streams/reader.ts'
import type { StreamLog } from '../streams/stream-log.ts'
import type { Answer } from './answer.ts'
import { type Back, backOf, errorOf, inboxOf, type There, told, written } from './letters.ts'
import type { IncomingPost } from './request.ts'

export interface HandOverOptions {
  readonly log: StreamLog
  readonly presence: Presence
  /** Nesting of a message at most. */
  readonly maxDepth: number
}

/** How often (ms) it is asked whether the other one still runs. */
export const aliveMs = 1_500

export class HandOver {
  readonly #options: HandOverOptions
  readonly #relays = new Set<Relay>()

  constructor(options: HandOverOptions) {
    this.#options = options
  }

  /** Whether that instance can be given something. */
  reaches(owner: InstanceId): Promise<boolean> {
    return answer(this.#options.presence.alive(owner))
  }

  /** Rejects with the GatewayError that the owner refuses it with, with `store`, or when the owner dies. */
  async pass(incoming: IncomingPost, owner: InstanceId, id: string): Promise<Answer> {
    const { log, presence } = this.#options
    const { route, version, address, principal, accepts, rawHeaders } = incoming
    const call = randomUUID()
    const relay = new Relay(this.#options, call, owner, id, () => this.#relays.delete(relay))
    this.#relays.add(relay)
    incoming.onGone(() => relay.leave())
    const body = incoming.body.toString('base64')
    const handed = {
      kind: 'call',
      call,
      from: presence.id,
      route: route.path,
      version,
      address,
      principal,
      accepts
    } as const
    try {
      await answer(log.post(inboxOf(owner), written({ ...handed, rawHeaders, body })))
    } catch (error) {
      relay.fail(error)
    }
    return await relay.answer
  }

  close(): void {
    for (const relay of this.#relays) relay.fail(new GatewayError('shutdown', 'the gateway is shutting down'))
  }
}

/** One call that was handed over. */
class Relay {
  readonly #options: HandOverOptions
  readonly #call: string
  readonly #owner: InstanceId
  readonly #id: string
  readonly #over: () => void
  readonly #inbox: Inbox
  readonly #watch: NodeJS.Timeout
  readonly #answer = Promise.withResolvers<Answer>()
  #reader: Reader | undefined
  /** Events before there is a reader. */
  readonly #early: Buffer[] = []
  #opened = false
  #ended = false

  constructor(options: HandOverOptions, call: string, owner: InstanceId, id: string, over: () => void) {
    this.#options = options
    this.#call = call
    this.#owner = owner
    this.#id = id
    this.#over = over
    this.#inbox = new Inbox(options.log, backOf(call), data => this.#hear(JSON.parse(data.toString()) as Back))
    this.#answer.promise.catch(ignore)
    this.#watch = setInterval(() => void this.#look(), aliveMs).unref()
  }

  get answer(): Promise<Answer> {
    return this.#answer.promise
  }

  /** The client left: the owner is told, and says the last word. */
  leave(): void {
    if (this.#ended) return
    const gone: There = { kind: 'gone', call: this.#call }
    this.#options.log.post(inboxOf(this.#owner), written(gone)).catch(ignore)
  }

  fail(error: unknown): void {
    if (this.#ended) return
    if (this.#opened) {
      this.#event(line(errorMessage(errorOf(told(error), this.#id), this.#id)))
      this.#reader?.end()
    } else {
      this.#answer.reject(error)
    }
    this.#end()
  }

  #hear(back: Back): void {
    if (this.#ended) return
    switch (back.kind) {
      case 'message':
        this.#answer.resolve({ kind: 'message', body: this.#message(back.text), status: back.status })
        this.#end()
        return
      case 'open':
        this.#opened = true
        this.#answer.resolve({ kind: 'stream', run: reader => this.#run(reader) })
        return
      case 'event':
        this.#event(Buffer.from(back.text))
        return
      case 'end':
        this.#reader?.end()
        this.#end()
        return
      case 'error':
        this.fail(errorOf(back.error, this.#id))
    }
  }

  #message(text: string) {
    return readMessage(Buffer.from(text), this.#options.maxDepth)
  }

  #run(reader: Reader): void {
    this.#reader = reader
    reader.comment()
    for (const data of this.#early.splice(0)) void reader.push(undefined, data)
    if (this.#ended) reader.end()
    else reader.onGone(() => this.leave())
  }

  #event(data: Buffer): void {
    if (this.#reader === undefined) this.#early.push(data)
    else void this.#reader.push(undefined, data)
  }

  async #look(): Promise<void> {
    try {
      if (await this.#options.presence.alive(this.#owner)) return
    } catch {
      return
    }
    this.fail(new GatewayError('instance_gone', 'the instance where this call waited for input is gone'))
  }

  #end(): void {
    this.#ended = true
    clearInterval(this.#watch)
    this.#inbox.stop()
    this.#options.log.purge(backOf(this.#call).session).catch(ignore)
    this.#over()
  }
}

const ignore = (): void => {}
