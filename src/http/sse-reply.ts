/** An open response with an event stream: the reader that streams are written to. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'
import type { Reader } from '../streams/reader.ts'
import type { KeepAlive } from './keep-alive.ts'
import { peerKey, type Unacknowledged } from './unacknowledged.ts'

export interface SseOptions {
  readonly keepAlive: KeepAlive
  /** Bytes that may wait in the socket before the next message is held (`streams.highWater`). */
  readonly highWater: number
  /** `streams.stall`, in milliseconds. */
  readonly stallMs: number
}

const comment = ':\n\n'

/** Writes the head and takes the response over from Fastify, with the headers that its hooks set (CORS among them). */
export function openSse(reply: FastifyReply, headers: Readonly<Record<string, string>>, options: SseOptions): SseReply {
  reply.hijack()
  const { raw } = reply
  if (raw.socket !== null) holdForNow(raw.socket)
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

/** The head leaves together with what is written in the same turn. */
function holdForNow(socket: Socket): void {
  socket.cork()
  process.nextTick(release, socket)
}

const release = (socket: Socket): void => socket.uncork()

/** The event stream of a response, when it has one. */
export const sseReplyOf = (response: ServerResponse): SseReply | undefined => (response as Streaming)[stream]

const stream = Symbol('event stream')

type Streaming = ServerResponse & { [stream]?: SseReply }

export class SseReply implements Reader {
  readonly #raw: ServerResponse
  readonly #options: SseOptions
  readonly #highWater: number
  #listeners: (() => void)[] = []
  #room: PromiseWithResolvers<void> | undefined
  #gone = false
  #drainedAt: number
  #queued = 0
  #peer: string | undefined
  #taken = 0
  #takenAt = 0
  /** When something was last written. */
  wroteAt: number

  constructor(raw: ServerResponse, options: SseOptions) {
    this.#raw = raw
    this.#options = options
    // Below Node's own mark it tells of no drain.
    this.#highWater = Math.max(options.highWater, raw.writableHighWaterMark)
    this.wroteAt = options.keepAlive.now
    this.#drainedAt = this.wroteAt
    ;(raw as Streaming)[stream] = this
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

  /** When the socket last took something while data waited, as far as sweeps have seen it. */
  drainedAt(): number {
    // A large write is over only when all of it is gone: that part of it went is to be seen nowhere else.
    const handle = (this.#raw.socket as { _handle?: { writeQueueSize?: number } | null } | null)?._handle
    const queued = handle?.writeQueueSize ?? 0
    if (queued !== this.#queued) {
      this.#queued = queued
      this.#drainedAt = this.#options.keepAlive.now
    }
    return this.#drainedAt
  }

  /** When the peer last acknowledged something that was under way, as far as looks have seen it. */
  takenAt(held: Unacknowledged): number {
    const { socket } = this.#raw
    const { now } = this.#options.keepAlive
    if (held.size === 0 || socket?.remoteAddress === undefined) return now
    this.#peer ??= peerKey(socket.remoteAddress, socket.remotePort!)
    const under = held.get(this.#peer) ?? 0
    const taken = socket.bytesWritten - under
    if (under === 0 || taken !== this.#taken) {
      this.#taken = taken
      this.#takenAt = now
    }
    return this.#takenAt
  }

  push(id: string | undefined, data: Uint8Array): Promise<void> | undefined {
    if (this.#gone) return undefined
    const head = id === undefined ? 'event: message\ndata: ' : `id: ${id}\nevent: message\ndata: `
    if (data.length < copyBelow) {
      this.#write(`${head}${(data as Buffer).toString('utf8')}\n\n`)
    } else {
      this.#write(head)
      this.#write(data)
      this.#write('\n\n')
    }
    if (this.#raw.writableLength < this.#highWater) return undefined
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
    // From here on no sweep looks at it: Node cuts a connection that takes nothing.
    if (this.#raw.writableLength > 0) this.#raw.setTimeout(this.#options.stallMs)
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
    if (this.#raw.writableLength === 0) this.#drainedAt = this.#options.keepAlive.now
    this.wroteAt = this.#options.keepAlive.now
    this.#raw.write(data)
  }

  #drained(): void {
    this.#drainedAt = this.#options.keepAlive.now
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
