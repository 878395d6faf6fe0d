/** An open response with an event stream: the reader that streams are written to. The only place that touches `reply.raw`. */
import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { Reader } from '../streams/reader.ts'
import type { KeepAlive } from './keep-alive.ts'

export interface SseOptions {
  readonly keepAlive: KeepAlive
  /** Bytes that may wait in the socket before the next message is held (`streams.highWater`). */
  readonly highWater: number
}

const comment = ':\n\n'

/** Writes the head and takes the response over from Fastify, with the headers that its hooks set (CORS among them). */
export function openSse(reply: FastifyReply, headers: Readonly<Record<string, string>>, options: SseOptions): SseReply {
  reply.hijack()
  const { raw } = reply
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    ...headers
  })
  raw.flushHeaders()
  return new SseReply(raw, options)
}

export class SseReply implements Reader {
  readonly #raw: ServerResponse
  readonly #options: SseOptions
  #listeners: (() => void)[] = []
  #room: PromiseWithResolvers<void> | undefined
  #gone = false
  /** When something was last written, and when the socket last took something while data waited. */
  wroteAt: number
  drainedAt: number

  constructor(raw: ServerResponse, options: SseOptions) {
    this.#raw = raw
    this.#options = options
    this.wroteAt = options.keepAlive.now
    this.drainedAt = this.wroteAt
    raw.on('close', () => this.#leave())
    raw.on('error', () => this.#leave())
    raw.on('drain', () => this.#drained())
    if (raw.destroyed || raw.closed) this.#leave()
    else options.keepAlive.add(this)
  }

  get gone(): boolean {
    return this.#gone
  }

  /** Bytes written that the socket has not taken. */
  get waiting(): number {
    return this.#raw.writableLength
  }

  push(id: string | undefined, data: Uint8Array): Promise<void> | undefined {
    if (this.#gone) return undefined
    const head = id === undefined ? 'event: message\ndata: ' : `id: ${id}\nevent: message\ndata: `
    if (data.length < copyBelow) {
      this.#write(`${head}${(data as Buffer).toString('utf8')}\n\n`)
    } else {
      this.#raw.cork()
      this.#write(head)
      this.#write(data)
      this.#write('\n\n')
      process.nextTick(() => this.#raw.uncork())
    }
    if (this.#raw.writableLength < this.#options.highWater) return undefined
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  prime(id: string, retryMs: number): void {
    this.#write(`id: ${id}\nretry: ${retryMs}\ndata: \n\n`)
  }

  comment(): void {
    this.#write(comment)
  }

  retry(ms: number): void {
    this.#write(`retry: ${ms}\n\n`)
  }

  end(abruptly = false): void {
    if (this.#gone) return
    if (abruptly) this.#raw.socket?.destroySoon()
    else this.#raw.end()
    this.#leave()
  }

  /** Cuts the connection: nothing was drained for too long. */
  cut(): void {
    this.#raw.destroy()
    this.#leave()
  }

  onGone(listener: () => void): void {
    if (this.#gone) listener()
    else this.#listeners.push(listener)
  }

  #write(data: string | Uint8Array): void {
    if (this.#gone) return
    if (this.#raw.writableLength === 0) this.drainedAt = this.#options.keepAlive.now
    this.wroteAt = this.#options.keepAlive.now
    this.#raw.write(data)
  }

  #drained(): void {
    this.drainedAt = this.#options.keepAlive.now
    this.#room?.resolve()
    this.#room = undefined
  }

  #leave(): void {
    if (this.#gone) return
    this.#gone = true
    this.#options.keepAlive.delete(this)
    this.#room?.resolve()
    this.#room = undefined
    const listeners = this.#listeners
    this.#listeners = []
    for (const listener of listeners) listener()
  }
}

/** Messages shorter than this are written in one piece with their frame. */
const copyBelow = 16_384
