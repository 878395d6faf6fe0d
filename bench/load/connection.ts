import net from 'node:net'

export interface Reply {
  readonly status: number
  /** Everything before the body, as sent. */
  readonly head: string
  /** The first bytes of the body, up to a thousand or so. */
  readonly start: string
  /** Size of the body in bytes, chunk framing included. */
  readonly size: number
}

/** Bytes of a body that are kept to look at. */
const enough = 500
const endOfChunks = Buffer.from('0\r\n\r\n')

/**
 * One HTTP/1.1 keep-alive connection with one request at a time, on a bare socket: a load generator has to cost much less
 * than what it measures. It reads as much of a response as finding its end takes (Content-Length, else the last chunk).
 */
export class Connection {
  readonly #socket: net.Socket
  #done: ((reply: Reply) => void) | undefined
  #status = 0
  #head = ''
  #start = ''
  #size = 0
  /** Bytes still to come; -1: until the last chunk. */
  #rest = 0
  #tail = Buffer.alloc(0)

  /** A failed connection ends the process with an error: a bench has no use for half a load. */
  constructor(url: URL, localAddress?: string) {
    const buffer = Buffer.allocUnsafe(256 * 1024)
    this.#socket = net.connect({
      host: url.hostname,
      port: Number(url.port),
      noDelay: true,
      ...(localAddress === undefined ? {} : { localAddress }),
      onread: { buffer, callback: bytes => this.#read(buffer, bytes) }
    })
    this.#socket.on('error', error => {
      throw error
    })
    this.#socket.on('close', () => {
      if (this.#done !== undefined) throw new Error('the server closed the connection with a request in flight')
    })
  }

  send(request: string, done: (reply: Reply) => void): void {
    this.#done = done
    this.#head = ''
    this.#socket.write(request, 'latin1')
  }

  fetch(request: string): Promise<Reply> {
    return new Promise(resolve => this.send(request, resolve))
  }

  close(): void {
    this.#done = undefined
    this.#socket.destroy()
  }

  #read(buffer: Buffer, bytes: number): boolean {
    if (this.#head === '') this.#begin(buffer.subarray(0, bytes))
    else this.#more(buffer.subarray(0, bytes))
    return true
  }

  #begin(data: Buffer): void {
    const end = data.indexOf('\r\n\r\n')
    if (end < 0) throw new Error('the head of a response did not come in one piece')
    this.#head = data.toString('latin1', 0, end + 2)
    this.#status = Number(this.#head.slice(9, 12))
    const length = /\r\ncontent-length: *(\d+)/i.exec(this.#head)?.[1]
    this.#rest = length !== undefined ? Number(length) : /\r\ntransfer-encoding: *chunked/i.test(this.#head) ? -1 : 0
    this.#size = 0
    this.#tail = Buffer.alloc(0)
    const body = data.subarray(end + 4)
    this.#start = ''
    this.#more(body)
  }

  #more(data: Buffer): void {
    this.#size += data.length
    if (this.#start.length < enough) this.#start += data.toString('latin1', 0, Math.min(enough, data.length))
    if (this.#rest < 0) {
      const seen = data.length >= endOfChunks.length ? data : Buffer.concat([this.#tail, data])
      this.#tail = Buffer.from(seen.subarray(-endOfChunks.length))
      if (!this.#tail.equals(endOfChunks)) return
    } else if (this.#size < this.#rest) return
    const done = this.#done
    this.#done = undefined
    done?.({ status: this.#status, head: this.#head, start: this.#start, size: this.#size })
  }
}
