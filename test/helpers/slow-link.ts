/** A TCP link in front of a server that can be slow, or carry nothing at all, in both directions. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

export interface SlowLink {
  readonly port: number
  /** Milliseconds that every chunk is held, in each direction. Infinity: nothing is carried, and nobody is told. */
  delay: number
}

export async function slowLink(t: Pick<Test, 'teardown'>, to: number): Promise<SlowLink> {
  const sockets = new Set<Socket>()
  const carry = (from: Socket, into: Socket): void => {
    from.on('data', chunk => {
      if (link.delay === 0) into.write(chunk)
      else if (link.delay !== Number.POSITIVE_INFINITY) setTimeout(() => into.write(chunk), link.delay).unref()
    })
    from.on('error', () => {})
    from.on('close', () => into.destroy())
    sockets.add(from)
  }
  const server = createServer(socket => {
    const upstream = connect(to, '127.0.0.1')
    carry(socket, upstream)
    carry(upstream, socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const link: SlowLink = { port: (server.address() as AddressInfo).port, delay: 0 }
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return link
}
