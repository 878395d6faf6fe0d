import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import t from 'tap'
import { KeepAlive } from '../../src/http/keep-alive.ts'
import { SseReply } from '../../src/http/sse-reply.ts'
import { peerKey } from '../../src/http/unacknowledged.ts'
import { until } from '../helpers/until.ts'

interface Fake {
  wroteAt: number
  waiting: number
  drained: number
  drainedAt(): number
  comment(): void
  cut(): void
  end(): void
  readonly did: string[]
}

function fake(state: { wroteAt: number; waiting?: number; drained?: number }): Fake {
  const did: string[] = []
  return {
    waiting: 0,
    drained: 0,
    ...state,
    did,
    drainedAt() {
      return this.drained
    },
    comment: () => void did.push('comment'),
    cut: () => void did.push('cut'),
    end: () => void did.push('end')
  }
}

t.test('a sweep comments on what is idle, cuts what is stalled, and lets the others be (SSE-08, E1)', async t => {
  const keepAlive = new KeepAlive({ everyMs: 60_000, stallMs: 120_000 })
  t.teardown(() => keepAlive.close())
  const now = performance.now()
  const replies = {
    idle: fake({ wroteAt: now - 60_000 }),
    busy: fake({ wroteAt: now - 50_000 }),
    stalled: fake({ wroteAt: now, waiting: 1, drained: now - 120_000 }),
    slow: fake({ wroteAt: now - 200_000, waiting: 1, drained: now - 100_000 })
  }
  for (const reply of Object.values(replies)) keepAlive.add(reply as unknown as SseReply)
  t.equal(keepAlive.size, 4)
  keepAlive.sweep()
  t.same(
    Object.values(replies).map(({ did }) => did),
    [['comment'], [], ['cut'], []],
    'nothing is written to a reader that is behind'
  )
  keepAlive.delete(replies.idle as unknown as SseReply)
  keepAlive.sweep()
  t.same(replies.idle.did, ['comment'])
})

t.test('closing ends every stream and stops the only timer', async t => {
  const set = t.capture(globalThis, 'setInterval', globalThis.setInterval)
  const cleared = t.capture(globalThis, 'clearInterval', globalThis.clearInterval)
  const keepAlive = new KeepAlive({ everyMs: 15_000, stallMs: 30_000 })
  const replies = [fake({ wroteAt: 0 }), fake({ wroteAt: 0 })]
  for (const reply of replies) keepAlive.add(reply as unknown as SseReply)
  const timers = set()
  t.equal(timers.length, 1, 'one for all streams')
  t.equal(timers[0]!.args[1], 1_000)
  keepAlive.close()
  t.same(
    replies.map(({ did }) => did),
    [['end'], ['end']]
  )
  const [stopped] = cleared()
  t.ok(stopped)
  t.equal(stopped!.args[0], (timers[0] as { returned?: unknown }).returned)
})

t.test('short times are kept well enough, and never by a sweep at every tick', async t => {
  const set = t.capture(globalThis, 'setInterval', globalThis.setInterval)
  for (const [everyMs, stallMs, expected] of [
    [200, 30_000, 50],
    [15_000, 400, 100],
    [1, 1, 20]
  ] as const) {
    new KeepAlive({ everyMs, stallMs }).close()
    t.equal(set()[0]!.args[1], expected)
  }
})

t.test('whoever acknowledges nothing of what is under way is cut, and nobody else (E6)', async t => {
  const sockets: Socket[] = []
  let looks = 0
  // Of what is written nothing arrives at the first; the second is behind, and takes something all the time.
  const unacknowledged = async () => {
    looks++
    const [lost, slow] = sockets.map(({ remotePort }) => peerKey('127.0.0.1', remotePort!)) as [string, string]
    return new Map([
      [lost, sockets[0]!.bytesWritten - 1],
      [slow, (looks % 2) + 1]
    ])
  }
  const keepAlive = new KeepAlive({ everyMs: 30, stallMs: 300, unacknowledged })
  t.teardown(() => keepAlive.close())
  const replies: SseReply[] = []
  const server = http.createServer((_request, raw) => {
    raw.writeHead(200)
    sockets.push(raw.socket!)
    replies.push(new SseReply(raw, { keepAlive, highWater: 1_000, stallMs: 300 }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const open = async (): Promise<http.IncomingMessage> => {
    const request = http.get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', agent: false })
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    return response.resume().on('error', () => {})
  }
  await open()
  await open()
  const [lost, slow] = replies as [SseReply, SseReply]
  await until('the one that takes nothing is cut', () => lost.gone)
  const before = looks
  await until('the other one was looked at again and again', () => looks > before + 5)
  t.equal(slow.gone, false)
})
