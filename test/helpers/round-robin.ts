/** A load balancer without affinity: each request goes on a connection of its own to the next of the servers. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'

export interface RoundRobin {
  readonly url: string
  /** How many requests each server has had. */
  readonly taken: readonly number[]
  close(): Promise<void>
}

/** `urls`: of one path on each of the servers, of the same name. */
export async function startRoundRobin(urls: readonly string[]): Promise<RoundRobin> {
  const targets = urls.map(url => new URL(url))
  const taken = targets.map(() => 0)
  let next = 0
  const server = http.createServer((request, response) => {
    const chosen = next
    next = (next + 1) % targets.length
    taken[chosen]!++
    const { hostname, port } = targets[chosen]!
    const { method, url: path, headers } = request
    const onward = http.request({ hostname, port, method, path, headers, agent: false })
    onward.on('response', answer => {
      response.writeHead(answer.statusCode!, answer.headers)
      response.flushHeaders()
      answer.pipe(response)
      answer.on('close', () => {
        if (!answer.complete) response.destroy()
      })
    })
    onward.on('error', () => {
      if (response.headersSent) response.destroy()
      else response.writeHead(502).end()
    })
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${targets[0]!.pathname}`,
    taken,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    }
  }
}
