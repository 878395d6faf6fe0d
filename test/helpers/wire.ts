/** Bytes on a socket: for what no HTTP client would send, or must not tidy up. */
import net from 'node:net'

export interface Wire {
  readonly socket: net.Socket
  /** Everything that came so far, as Latin-1. */
  readonly text: string
  readonly ended: boolean
  readonly closed: boolean
  write(text: string | Buffer): void
  /** Waits until what came matches (of much: the end of it); rejects after `ms`. */
  until(what: RegExp | ((wire: Wire) => boolean), ms?: number): Promise<Wire>
  /** Waits until the peer has closed; rejects after `ms`. */
  whole(ms?: number): Promise<Wire>
}

/** Characters at the end of what came that a pattern is looked for in. */
const lookedAt = 65_536

/** The test that owns it: the socket is gone at its end. */
interface Owner {
  teardown(handler: () => void): void
}

export function connect(t: Owner, url: string, options: { readonly allowHalfOpen?: boolean } = {}): Promise<Wire> {
  const { hostname, port } = new URL(url)
  const socket = net.connect({ host: hostname, port: Number(port), ...options })
  t.teardown(() => void socket.destroy())
  let text = ''
  /** The end of it: joining all of much for every look would take for ever. */
  let tail = ''
  let ended = false
  let closed = false
  let waiting: (() => void)[] = []
  const wake = (): void => {
    for (const one of waiting) one()
    waiting = []
  }
  socket.on('data', chunk => {
    const more = chunk.toString('latin1')
    text += more
    tail = (tail + more).slice(-lookedAt)
    wake()
  })
  socket.on('end', () => {
    ended = true
    wake()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    closed = true
    wake()
  })
  const wire: Wire = {
    socket,
    get text() {
      return text
    },
    get ended() {
      return ended
    },
    get closed() {
      return closed
    },
    write: data => void socket.write(typeof data === 'string' ? Buffer.from(data, 'latin1') : data),
    async until(what, ms = 5_000) {
      const end = performance.now() + ms
      const holds = (): boolean => (typeof what === 'function' ? what(wire) : what.test(tail))
      while (!holds()) {
        const left = end - performance.now()
        if (left <= 0)
          throw new Error(
            `not seen within ${ms} ms: ${what}; so far ${text.length}: ${JSON.stringify(text.slice(-500))}`
          )
        let timer: NodeJS.Timeout | undefined
        await new Promise<void>(resolve => {
          timer = setTimeout(resolve, left)
          waiting.push(resolve)
        })
        clearTimeout(timer)
      }
      return wire
    },
    whole: ms => wire.until(({ ended, closed }) => ended || closed, ms)
  }
  return new Promise((resolve, reject) => {
    socket.once('connect', () => resolve(wire))
    socket.once('error', reject)
  })
}

/** Sends one text on a connection of its own and waits for the peer to close it. */
export async function exchange(t: Owner, url: string, text: string | Buffer, ms?: number): Promise<string> {
  const wire = await connect(t, url)
  wire.write(text)
  return (await wire.whole(ms)).text
}

/** Status codes of the responses in a text, interim ones too. */
export const statuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

/** Body of the last response in a text, as JSON. */
export const bodyOf = (text: string): any => JSON.parse(text.slice(text.lastIndexOf('\r\n\r\n') + 4))
