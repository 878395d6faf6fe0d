/** Serves a scripted server to child processes: each is a relay of its standard input and output. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Outlet, Scripted } from './scripted.ts'
import { fixture } from './stdio.ts'

export interface StdioUpstream {
  /** What starts a child. */
  readonly command: string
  readonly args: readonly string[]
  /** Every child dies. */
  cut(): void
  close(): Promise<void>
}

export async function stdioUpstream(server: Scripted): Promise<StdioUpstream> {
  const sockets = new Set<Socket>()
  let last = 0
  const listener = createServer({ noDelay: true }, socket => {
    const session = ++last
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('end', () => socket.end())
    const outlet: Outlet = {
      write: json => void socket.write(`${json}\n`),
      // What was written goes out before it dies.
      die: () => void setTimeout(() => socket.resetAndDestroy(), 5)
    }
    let rest = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop()!
      for (const line of lines) server.accept(line, outlet, session)
    })
  })
  server.outside = json => {
    for (const socket of sockets) socket.write(`${json}\n`)
    return sockets.size > 0
  }
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return {
    command: process.execPath,
    args: [fixture('relay.mjs'), String((listener.address() as AddressInfo).port)],
    cut: () => {
      for (const socket of sockets) socket.resetAndDestroy()
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      listener.close()
      await once(listener, 'close')
    }
  }
}
