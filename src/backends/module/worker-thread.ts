/** A thread of handlers as the gateway sees it: its links and calls, and its end, which reaches everything that is open on it. */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { type ErrorCode, GatewayError } from '../../errors.ts'
import { type Message, readMessage } from '../../protocol/message.ts'
import { bytes } from '../../protocol/write.ts'
import { facts } from '../../telemetry/events.ts'
import type { Call, OpenOptions, Server } from '../backend.ts'
import { Queue } from '../queue.ts'
import { Marker, markerBuffer } from './marker.ts'
import { tellStuck } from './stuck.ts'
import { Watch } from './watch.ts'
import { WorkerCalls } from './worker-calls.ts'
import type { FromThread, ThreadData, ToThread } from './worker-messages.ts'

/** Milliseconds for it to end by itself. */
const endPatience = 2_000
/** Nesting of what its handlers say. */
const anyDepth = 1_000
/** Handlers that are named when it cannot be told which of them it was. */
const maxSuspects = 10

export interface ThreadOptions extends Omit<ThreadData, 'marker'> {
  /** Bytes that its values may take. */
  readonly memory: number
  /** Milliseconds for which it may take no messages. */
  readonly patience: (isReady: boolean) => number
  /** It ended by itself, or had to be ended. */
  readonly crashed: (reason: string, suspects: readonly string[]) => void
}

interface Member extends Pick<OpenOptions, 'receive' | 'ended'> {
  readonly opened: PromiseWithResolvers<Server>
}

export class WorkerThread {
  readonly #options: ThreadOptions
  readonly #worker: Worker
  readonly #marker: Marker
  readonly #watch: Watch
  readonly #members = new Map<number, Member>()
  readonly #calls = new WorkerCalls(message => this.#post(message))
  readonly #ready = Promise.withResolvers<void>()
  readonly #gone = Promise.withResolvers<void>()
  #isReady = false
  #numbers = 0
  #over: GatewayError | undefined
  #ending = false

  constructor(options: ThreadOptions) {
    this.#options = options
    const { name, path, strict, watch, limits, memory } = options
    const marker = markerBuffer()
    this.#marker = new Marker(marker)
    this.#worker = new Worker(new URL(`./thread-main${extname(import.meta.url)}`, import.meta.url), {
      name,
      workerData: { name, path, strict, watch, limits, marker } satisfies ThreadData,
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(memory / 1024 ** 2) }
    })
    this.#watch = new Watch({
      ask: () => this.#post({ kind: 'ping' }),
      isAwaited: () => !this.#isReady || this.#calls.size > 0,
      patience: () => options.patience(this.#isReady),
      blocked: ms => this.#blocked(ms)
    })
    this.#watch.begin()
    this.#ready.promise.catch(() => {})
    this.#worker.on('message', (message: FromThread) => this.#take(message))
    this.#worker.on('error', error => this.#end(error instanceof Error ? error.message : String(error)))
    this.#worker.on('exit', code => {
      this.#end(`it ended with ${code}`)
      this.#gone.resolve()
    })
  }

  /** Rejects with `backend_unavailable`. */
  get ready(): Promise<void> {
    return this.#ready.promise
  }

  /** The number of the link, and what the server says of itself. */
  async open({ principal, client, receive, ended }: OpenOptions): Promise<{ link: number; server: Server }> {
    if (this.#over !== undefined) throw this.#over
    const link = ++this.#numbers
    const opened = Promise.withResolvers<Server>()
    this.#members.set(link, { receive, ended, opened })
    this.#post({ kind: 'open', link, principal, client })
    return { link, server: await opened.promise }
  }

  exchange(link: number, request: Message, call: Call): Queue {
    if (this.#over !== undefined) {
      const queue = new Queue({ cancel() {}, detach() {} })
      queue.fail(this.#over.withId(request.id))
      return queue
    }
    const queue = this.#calls.begin(link, request, call)
    this.#watch.begin()
    return queue
  }

  async send(link: number, message: Message): Promise<void> {
    if (this.#over !== undefined) throw this.#over
    this.#post({ kind: 'send', link, text: bytes(message).toString() })
  }

  close(link: number): void {
    if (!this.#members.delete(link)) return
    this.#calls.leave(link)
    this.#post({ kind: 'close', link })
  }

  /** Ends it, in order when it lets itself be. */
  async end(): Promise<void> {
    this.#ending = true
    this.#post({ kind: 'end' })
    const timer = setTimeout(() => void this.#worker.terminate(), endPatience)
    await this.#gone.promise
    clearTimeout(timer)
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message)
  }

  #take(message: FromThread): void {
    switch (message.kind) {
      case 'ready':
        this.#isReady = true
        this.#ready.resolve()
        break
      case 'refused':
        this.#ready.reject(this.#error('backend_unavailable', message.text))
        break
      case 'opened':
        this.#members.get(message.link)?.opened.resolve(message.server)
        break
      case 'message':
        this.#calls.said(message.call, messageOf(message.text))
        break
      case 'failed':
        this.#calls.fail(message.call, this.#error(message.code, message.text))
        break
      case 'closeStream':
        this.#calls.closeStream(message.call)
        break
      case 'received':
        this.#members.get(message.link)?.receive(messageOf(message.text))
        break
      case 'notice':
        facts.notice.publish(message.fact)
        break
      case 'drop':
        facts.drop.publish(message.fact)
        break
      case 'pong':
        this.#watch.answered()
    }
  }

  #blocked(ms: number): void {
    const suspects = this.#suspects()
    for (const name of suspects) {
      tellStuck(this.#options.name, name, 'blocks its thread, which is ended')
    }
    void this.#worker.terminate()
    this.#end(`it took no messages for ${Math.round(ms / 1_000)} s`, suspects)
  }

  /** The handler on its stack, else those that wait for something. */
  #suspects(): readonly string[] {
    const { name } = this.#marker
    if (name !== undefined) return [name]
    return this.#calls.names.slice(0, maxSuspects)
  }

  #end(reason: string, suspects = this.#suspects()): void {
    if (this.#over !== undefined) return
    const text = `the thread of its handlers ended: ${reason}`
    this.#over = this.#error('backend_broke', text)
    this.#watch.end()
    this.#ready.reject(this.#error('backend_unavailable', text))
    this.#calls.failAll(this.#over)
    for (const { opened, ended } of this.#members.values()) {
      opened.reject(this.#over)
      opened.promise.catch(() => {})
      ended(this.#over)
    }
    this.#members.clear()
    if (!this.#ending) this.#options.crashed(text, suspects)
  }

  #error(code: ErrorCode, text: string): GatewayError {
    const { name: backend } = this.#options
    return new GatewayError(code, `backend "${backend}": ${text}`, { backend })
  }
}

const messageOf = (text: string): Message => readMessage(Buffer.from(text), anyDepth)
