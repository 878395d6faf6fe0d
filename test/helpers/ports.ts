import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** As many different loopback ports as asked for, free at this moment. */
export const freePorts = async (count: number): Promise<number[]> => {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map(server => once(server, 'listening')))
  const ports = servers.map(server => (server.address() as AddressInfo).port)
  await Promise.all(
    servers.map(server => {
      server.close()
      return once(server, 'close')
    })
  )
  return ports
}
