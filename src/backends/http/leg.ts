/** One HTTP response of the upstream, read by undici's callbacks: a bounded JSON body, or an event stream. */
import type { Dispatcher } from 'undici'
import { markDisposable, release } from '../../protocol/disposable.ts'
import { type Events, SseParser } from '../../sse/parse.ts'
import { Flow, type Valve } from '../flow.ts'
import { Decoder } from './decode.ts'
import { mediaType } from './headers.ts'
import type { Fault, Headers, Reader } from './reader.ts'

type Controller = Dispatcher.DispatchController

/** Reason given to undici when the gateway lets go; never seen by anybody. */
const dropped = new Error('dropped')

const head = 0
const json = 1
const stream = 2
const refused = 3
const over = 4

export class Leg implements Dispatcher.DispatchHandler, Events, Valve {
  readonly #limit: number
  readonly #json: boolean
  #reader: Reader | undefined
  #controller: Controller | undefined
  #state: typeof head | typeof json | typeof stream | typeof refused | typeof over = head
  #status = 0
  #dropped = false
  #parser: SseParser | undefined
  #decoder: Decoder | undefined
  #first: Buffer | undefined
  #more: Buffer[] | undefined
  #size = 0
  /** Of an event stream. */
  #flow: Flow | undefined

  /** `limit`: largest JSON text, bytes. `json`: whether a JSON body is an answer. */
  constructor(reader: Reader, limit: number, json: boolean) {
    this.#reader = reader
    this.#limit = limit
    this.#json = json
  }

  /** Whether the request went out (or may have). */
  get started(): boolean {
    return this.#controller !== undefined
  }

  /** Ends the connection, or does not let the request out at all. Nothing is told to the reader any more. */
  drop(): void {
    this.#dropped = true
    this.#reader = undefined
    const controller = this.#controller
    this.#close()
    controller?.abort(dropped)
  }

  /** The reader is behind. */
  hold(): void {
    this.#flow?.hold()
  }

  /** The reader has caught up. */
  release(): void {
    this.#flow?.release()
  }

  /** For its {@link Flow} alone. */
  pause(): void {
    this.#controller?.pause()
    this.#decoder?.pause()
  }

  /** For its {@link Flow} alone. */
  resume(): void {
    this.#decoder?.resume()
    this.#controller?.resume()
  }

  /** What is left of the stream goes to another reader, so that the connection can be used again. False: nothing is left. */
  handOver(reader: Reader): boolean {
    if (this.#state === over) return false
    this.#reader = reader
    this.release()
    return true
  }

  onRequestStart(controller: Controller): void {
    if (this.#dropped) controller.abort(dropped)
    else this.#controller = controller
  }

  onResponseStart(controller: Controller, status: number, headers: Headers): void {
    if (status < 200 || this.#reader === undefined) return
    this.#status = status
    const type = mediaType(headers['content-type'])
    const coding = headers['content-encoding']
    if (coding !== undefined && coding !== '' && coding !== 'identity') {
      this.#decoder = Decoder.of(coding, this)
      if (this.#decoder === undefined) {
        this.#fail({ kind: 'invalid', text: 'its content coding is unknown' })
        return
      }
    }
    if (status >= 400) {
      this.#state = refused
      if (type === 'application/json') return
      this.#fail({ kind: 'status', status, body: undefined })
      return
    }
    if (status !== 200) {
      if (status < 300 && this.#json) {
        this.#fail({ kind: 'invalid', text: `status ${status} to a request` })
        return
      }
      this.#fail({ kind: 'status', status, body: undefined })
      return
    }
    if (type === 'text/event-stream') {
      this.#state = stream
      this.#flow = new Flow(this)
      this.#parser = new SseParser(this, this.#limit)
    } else if (type === 'application/json' && this.#json) {
      this.#state = json
      if (Number(headers['content-length']) > this.#limit) {
        this.#fail({ kind: 'too_large' })
        return
      }
    } else {
      this.#fail({ kind: 'invalid', text: `its content type is ${type === '' ? 'missing' : 'another'}` })
      return
    }
    this.#reader.opened?.(this, headers, this.#state === stream)
    controller.rawHeaders = null
  }

  onResponseData(_controller: Controller, chunk: Buffer): void {
    if (this.#decoder === undefined) this.data(chunk)
    else this.#decoder.write(chunk)
  }

  /** Decoded bytes of the body. */
  data(chunk: Buffer): void {
    switch (this.#state) {
      case stream:
        this.#parser?.push(chunk)
        this.#flow?.took(chunk.length)
        return
      case json:
      case refused:
        this.#size += chunk.length
        if (this.#size > this.#limit) {
          this.#fail(this.#tooMuch())
          return
        }
        if (this.#first === undefined) this.#first = chunk
        else if (this.#more === undefined) this.#more = [this.#first, chunk]
        else this.#more.push(chunk)
    }
  }

  onResponseEnd(): void {
    if (this.#decoder === undefined) this.end()
    else this.#decoder.end()
  }

  /** The decoded body is complete. */
  end(): void {
    const reader = this.#reader
    const state = this.#state
    if (reader === undefined || state === over) return
    if (state === stream) {
      this.#close()
      reader.ended(this)
      return
    }
    const body = this.#body()
    if (state === refused) {
      this.#fail({ kind: 'status', status: this.#status, body })
      return
    }
    if (body === undefined) {
      this.#fail({ kind: 'invalid', text: 'its body is empty' })
      return
    }
    this.#close()
    reader.text(body, this)
    reader.ended(this)
  }

  onResponseError(_controller: Controller | undefined, cause: Error): void {
    this.#fail(
      this.#state === refused
        ? { kind: 'status', status: this.#status, body: undefined }
        : { kind: this.#controller === undefined ? 'unreached' : 'broke', cause }
    )
  }

  /** The body cannot be decoded. */
  undecodable(): void {
    this.#fail({ kind: 'invalid', text: 'its body cannot be decoded' })
  }

  event(data: Buffer, type: string): void {
    if (type === 'message') this.#reader?.text(data, this)
  }

  id(id: string): void {
    this.#reader?.id(id)
  }

  retry(ms: number): void {
    this.#reader?.retry(ms)
  }

  tooLarge(): void {
    this.#fail({ kind: 'too_large' })
  }

  /** Whoever refuses at length refuses all the same. */
  #tooMuch(): Fault {
    return this.#state === refused ? { kind: 'status', status: this.#status, body: undefined } : { kind: 'too_large' }
  }

  #body(): Buffer | undefined {
    if (this.#more === undefined) return this.#first
    const body = Buffer.concat(this.#more, this.#size)
    if (body.length >= large) markDisposable(body)
    // What a decoder says may lie in memory that it uses again.
    if (this.#decoder === undefined) letGo(this.#more)
    return body
  }

  #fail(fault: Fault): void {
    const reader = this.#reader
    const controller = this.#controller
    if (reader === undefined || this.#state === over) return
    this.#close()
    controller?.abort(dropped)
    reader.failed(fault, this)
  }

  /** A finished leg holds nothing: undici's controllers would chain dead exchanges together. */
  #close(): void {
    this.#state = over
    this.#controller = undefined
    this.#parser = undefined
    this.#flow = undefined
    this.#first = undefined
    this.#more = undefined
    this.#decoder?.close()
    this.#decoder = undefined
    this.#reader = undefined
  }
}

/** Bytes. What is smaller may lie in memory that Node shares among many buffers. */
const large = 32_768

/** Reads that were copied. Not the memory of the last: the connection is still reading it. */
function letGo(chunks: readonly Buffer[]): void {
  const reading = chunks.at(-1)!.buffer
  for (const chunk of chunks) if (chunk.buffer.byteLength >= large && chunk.buffer !== reading) release(chunk)
}
