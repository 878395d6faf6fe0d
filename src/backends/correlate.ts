/**
 * Many exchanges on one pipe (stdio, HTTP+SSE), where nothing but the id says what a message belongs to. Towards the
 * upstream an exchange has a number of this pipe's own, which is its progress token too (basic/utilities/progress: tokens
 * are unique across active requests); what comes back carries the caller's id and token as they were written.
 */
import { GatewayError } from '../errors.ts'
import { withId, withMeta, withParam } from '../protocol/edit.ts'
import { withSubscription } from '../protocol/envelope.ts'
import { makeError, makeNotification, makeResult } from '../protocol/make.ts'
import { type Message, textMeta, textParam } from '../protocol/message.ts'
import { subscriptionKey } from '../protocol/modern.ts'
import { facts } from '../telemetry/events.ts'
import { answeredId } from './answered-id.ts'
import { Pace, type Paced } from './pace.ts'
import { Queue } from './queue.ts'

export interface Pipe {
  /** Resolves when the upstream has taken it, rejects with a GatewayError. Keeps the order of the calls. */
  write(message: Message): Promise<void>
  /** Go on after `accept` said false. */
  resume(): void
}

export interface CorrelatorOptions {
  readonly backend: string
  readonly pipe: Pipe
  /** What belongs to no exchange. */
  readonly receive: (message: Message) => void
  /** One session has this pipe for itself, so that progress of a task can go on to `receive` after the response. */
  readonly single: boolean
  /** How long (ms) a slow reader may hold the pipe before it loses notifications instead. */
  readonly patienceMs?: number
}

interface Open extends Paced {
  readonly number: number
  readonly queue: Queue
  /** JSON text of the caller's id and progress token. */
  readonly id: string
  readonly token: string | undefined
  /** A task's progress goes on after the response (basic/utilities/progress, behavior 3). */
  readonly task: boolean
  /** It is a subscription of the modern era. */
  readonly listens: boolean
  /** Whose it is, for `closeAll`. */
  readonly owner: unknown
  /** Ids of the upstream's own requests that were yielded here and have no answer yet. */
  asks: Set<string> | undefined
}

/** Finished task-augmented requests whose progress is still let through, and requests of the upstream kept track of. */
const maxTasks = 256
const maxAsks = 256

const relatedTask = 'io.modelcontextprotocol/related-task'

export class Correlator {
  readonly #options: CorrelatorOptions
  readonly #open = new Map<number, Open>()
  /** Number to caller's token. */
  readonly #tasks = new Map<string, string>()
  readonly #pace: Pace
  #last = 0
  #modern = false
  #failure: GatewayError | undefined

  constructor(options: CorrelatorOptions) {
    this.#options = options
    this.#pace = new Pace(options.patienceMs ?? 250, () => options.pipe.resume())
  }

  /** Number of the latest exchange. */
  get latest(): number {
    return this.#last
  }

  /** Exchanges without their response. */
  get size(): number {
    return this.#open.size
  }

  /** The upstream is of the modern era: it asks nothing, and what it says of a subscription names it. */
  speakModern(): void {
    this.#modern = true
  }

  /** Sends a request. What goes wrong rejects the exchange's `next`. */
  exchange(request: Message, owner?: unknown): Queue {
    const number = ++this.#last
    const text = String(number)
    const token = textMeta(request, 'progressToken')
    const known = token !== undefined && isToken(token)
    const cancellable = request.method !== 'initialize'
    const queue = new Queue({
      cancel: reason => {
        this.#forget(number)
        if (cancellable) this.#tell(makeNotification('notifications/cancelled', { requestId: number, reason }))
      },
      detach: () => this.#forget(number),
      resume: () => this.#caughtUp(number)
    })
    const open: Open = {
      number,
      queue,
      id: request.id!,
      token: known ? token : undefined,
      task: request.scanned.params?.keys.includes('task') ?? false,
      listens: request.method === 'subscriptions/listen',
      owner,
      asks: undefined,
      behind: false
    }
    if (this.#failure !== undefined) {
      queue.fail(this.#failure)
      return queue
    }
    this.#open.set(number, open)
    const numbered = withId(request, text)
    this.#options.pipe
      .write(known ? withMeta(numbered, 'progressToken', text) : numbered)
      .catch((error: GatewayError) => {
        this.#forget(number)
        queue.fail(error)
      })
    return queue
  }

  /** A notification, or the answer to a request of the upstream. */
  send(message: Message): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (message.kind === 'response' && message.id !== undefined) {
      for (const open of this.#open.values()) if (open.asks?.delete(message.id)) break
    }
    return this.#options.pipe.write(message)
  }

  /** Something of the upstream; a ping is answered. False: pause the pipe until `resume`. */
  accept(message: Message): boolean {
    if (message.kind === 'response') this.#response(message)
    else if (message.method === 'notifications/progress') this.#progress(message)
    else if (this.#modern) this.#stateless(message)
    else if (message.kind === 'request' && message.method === 'ping') this.#tell(makeResult(message.id!, {}))
    else this.#unaddressed(message)
    return this.#pace.free
  }

  /**
   * A message of the upstream could not be read (too large, too deep); `head` and `tail` are its ends. Fails the exchange
   * that it answers, as far as the ends tell; with `guess` else the only one that is open. Whether there was one.
   */
  unreadable(head: Buffer, tail: Buffer, error: GatewayError, guess = false): boolean {
    const answered = answeredId(head, tail)
    if (answered === 'none') return false
    const [only] = guess && this.#open.size === 1 ? this.#open.values() : []
    const open = answered === 'unknown' ? only : this.#open.get(answered)
    if (open === undefined) return false
    this.#forget(open.number)
    open.queue.fail(error)
    return true
  }

  /** The pipe is gone: every open exchange fails, and every later one. */
  fail(error: GatewayError): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    const open = [...this.#open.values()]
    this.#open.clear()
    this.#tasks.clear()
    this.#pace.clear()
    for (const { queue } of open) queue.fail(error)
  }

  /** Ends the exchanges of an owner as cancelled. `tell`: the pipe stays, so that the upstream has to know. */
  closeAll(owner: unknown, tell: boolean): void {
    for (const open of [...this.#open.values()]) {
      if (open.owner !== owner) continue
      if (tell) open.queue.cancel()
      else open.queue.detach()
    }
  }

  #response(message: Message): void {
    const number = numberOf(message.id)
    const open = number === undefined ? undefined : this.#open.get(number)
    if (open === undefined) {
      this.#drop(message.id === undefined ? 'unaddressed_error' : 'unknown_id')
      return
    }
    if (this.#options.single && open.task && open.token !== undefined) this.#keepToken(String(number), open.token)
    this.#forget(open.number)
    open.queue.finish(withId(open.listens ? withSubscription(message, open.id) : message, open.id))
  }

  #keepToken(number: string, token: string): void {
    this.#tasks.set(number, token)
    if (this.#tasks.size > maxTasks) for (const oldest of this.#tasks.keys()) return void this.#tasks.delete(oldest)
  }

  #progress(message: Message): void {
    const number = numberOf(textParam(message, 'progressToken'))
    const open = number === undefined ? undefined : this.#open.get(number)
    if (open?.token !== undefined) {
      this.#push(open, withParam(message, 'progressToken', open.token))
      return
    }
    const token = this.#tasks.get(String(number))
    if (token === undefined) this.#drop('unknown_token')
    else this.#options.receive(withParam(message, 'progressToken', token))
  }

  /**
   * Requests and logs of the upstream name no call. With one call open they are taken to be its; a message of a task
   * outlives the exchange that began it, and everything else is of the whole conversation.
   */
  #unaddressed(message: Message): void {
    const open = message.method === 'notifications/cancelled' ? this.#askedOn(message) : this.#only(message)
    if (open === undefined) {
      this.#options.receive(message)
      return
    }
    if (message.kind === 'request') {
      open.asks ??= new Set()
      if (open.asks.size < maxAsks) open.asks.add(message.id!)
    }
    this.#push(open, message)
  }

  /**
   * Of an upstream without a conversation (2026-07-28 basic/transports/stdio, "Receiving Messages"): what is for a
   * subscription names the request that made it, and its end is a `cancelled`.
   */
  #stateless(message: Message): void {
    if (message.kind === 'request') {
      this.#drop('unasked_request')
      return
    }
    const ends = message.method === 'notifications/cancelled'
    const number = numberOf(ends ? textParam(message, 'requestId') : textMeta(message, subscriptionKey))
    const open = number === undefined ? undefined : this.#open.get(number)
    if (open === undefined) {
      if (number === undefined && !ends) this.#unaddressed(message)
      else this.#drop('unknown_subscription')
    } else if (ends) {
      this.#forget(open.number)
      open.queue.fail(
        new GatewayError('backend_broke', `backend "${this.#options.backend}" ended the subscription`, {
          backend: this.#options.backend
        })
      )
    } else {
      this.#push(open, withSubscription(message, open.id))
    }
  }

  #only(message: Message): Open | undefined {
    if (message.kind !== 'request' && message.method !== 'notifications/message') return undefined
    if (message.scanned.meta?.keys.includes(relatedTask)) return undefined
    let only: Open | undefined
    for (const open of this.#open.values()) {
      // A subscription says nothing but changes.
      if (open.listens) continue
      if (only !== undefined) return undefined
      only = open
    }
    return only
  }

  /** Where the request went that the upstream cancels. */
  #askedOn(cancelled: Message): Open | undefined {
    const id = textParam(cancelled, 'requestId')
    if (id === undefined) return undefined
    for (const open of this.#open.values()) if (open.asks?.delete(id)) return open
    return undefined
  }

  #push(open: Open, message: Message): void {
    if (open.behind) {
      this.#drop('slow_reader')
      if (message.kind === 'request') this.#tell(makeError(message.id, -32603, 'the client does not keep up'))
      return
    }
    if (!open.queue.push(message)) this.#pace.hold(open)
  }

  #caughtUp(number: number): void {
    const open = this.#open.get(number)
    if (open !== undefined) this.#pace.release(open)
  }

  #forget(number: number): void {
    const open = this.#open.get(number)
    if (open === undefined) return
    this.#open.delete(number)
    this.#pace.release(open)
  }

  /** Nobody waits for the outcome: a pipe that breaks says so to all. */
  #tell(message: Message): void {
    this.send(message).catch(() => {})
  }

  #drop(reason: string): void {
    facts.drop.publish({ reason, backend: this.#options.backend })
  }
}

/** Tokens are strings or numbers; whatever else a caller wrote there is left as it is. */
const isToken = (json: string): boolean => /^["\d-]/.test(json)

/** Ours are numbers; some servers give them back as strings. */
function numberOf(json: string | undefined): number | undefined {
  const digits = json === undefined ? null : /^(?:(\d{1,15})|"(\d{1,15})")$/.exec(json)
  return digits === null ? undefined : Number(digits[1] ?? digits[2])
}
