import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import type { Link } from '../../../src/backends/backend.ts'
import { bytes } from '../../../src/protocol/write.ts'
import { type Bench, bench, call, texts } from '../../helpers/http.ts'
import { StillClock } from '../../helpers/http-clock.ts'
import { until } from '../../helpers/until.ts'

const sse = { 'content-type': 'text/event-stream' }

/** A link whose upstream answers GET with `answer`. */
async function getting(
  t: Test,
  answer: (response: ServerResponse, count: number) => void
): Promise<{ on: Bench; link: Link; clock: StillClock; gets: () => number }> {
  const clock = new StillClock()
  const on = await bench(
    t,
    {
      intercept: (request, response) => {
        if (request.method !== 'GET') return false
        answer(response, on.upstream.seenOf('GET').length)
        return true
      }
    },
    { clock }
  )
  return { on, link: await on.open(), clock, gets: () => on.upstream.seenOf('GET').length }
}

t.test('a stream is opened when somebody listens, once, and closed when nobody does', async t => {
  const on = await bench(t)
  const link = await on.open()
  await texts(call(link, 'echo'))
  t.same(on.upstream.seenOf('GET'), [])
  link.listen(true)
  link.listen(true)
  await until('the stream', () => on.upstream.listening)
  t.match(on.upstream.seenOf('GET')[0]!.headers, { accept: 'text/event-stream', 'mcp-protocol-version': '2025-11-25' })
  link.listen(false)
  await until('the end', () => !on.upstream.listening)
  link.listen(true)
  await until('the stream', () => on.upstream.listening)
  t.equal(on.upstream.seenOf('GET').length, 2)
  await link.close()
  await until('the end', () => !on.upstream.listening)
  link.listen(true)
  t.equal(on.upstream.seenOf('GET').length, 2, 'a closed link listens no more')
})

t.test('messages are received, requests too; pings are answered; responses and nonsense dropped', async t => {
  const { on, link } = await getting(t, response => {
    response.writeHead(200, sse)
    for (const data of [
      '{"jsonrpc":"2.0","method":"notifications/x","params":{"n":1.0}}',
      '{"jsonrpc":"2.0","id":9007199254740993,"method":"roots/list"}',
      '{"jsonrpc":"2.0","id":"p","method":"ping"}',
      '{"jsonrpc":"2.0","id":2,"result":{}}',
      'nonsense',
      '[{"jsonrpc":"2.0","method":"notifications/y"},1]'
    ]) {
      response.write(`data: ${data}\n\n`)
    }
  })
  link.listen(true)
  await until('the last', () => on.drops.length === 3)
  t.same(
    on.received.map(message => bytes(message).toString()),
    [
      '{"jsonrpc":"2.0","method":"notifications/x","params":{"n":1.0}}',
      '{"jsonrpc":"2.0","id":9007199254740993,"method":"roots/list"}',
      '{"jsonrpc":"2.0","method":"notifications/y"}'
    ]
  )
  t.same(on.drops, ['unknown_id', 'invalid_message', 'invalid_message'])
  await until('the pong', () => on.server.heard.some(message => message.kind === 'response' && message.id === '"p"'))
})

const never: [string, (response: ServerResponse) => void][] = [
  ['405', response => response.writeHead(405).end()],
  ['404', response => response.writeHead(404).end()],
  ['400', response => response.writeHead(400).end()],
  ['302', response => response.writeHead(302, { location: '/' }).end()],
  ['200 that is no stream', response => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')],
  ['200 without a type', response => response.writeHead(200).end()],
  ['202', response => response.writeHead(202).end()]
]

for (const [what, answer] of never) {
  t.test(`an upstream that answers GET with ${what} is asked once (NTF-01, R194)`, async t => {
    const { on, link, clock, gets } = await getting(t, answer)
    link.listen(true)
    await until('the refusal', () => on.notices.some(({ text }) => text.startsWith('no stream')))
    link.listen(false)
    link.listen(true)
    on.backend.tune({ headers: { a: 'b' } })
    t.equal((await texts(call(link, 'echo'))).length, 1)
    t.equal(gets(), 1)
    t.equal(clock.pending, 0)
    t.same(on.ended, [])
    t.same(on.received, [])
  })
}

for (const status of [401, 403]) {
  t.test(
    `an upstream that answers GET with ${status} is asked again when other headers are configured (NTF-01)`,
    async t => {
      const { on, link, clock, gets } = await getting(t, (response, count) => {
        if (count === 1) response.writeHead(status).end()
        else response.writeHead(200, sse).flushHeaders()
      })
      link.listen(true)
      await until('the refusal', () => on.notices.some(({ text }) => text.startsWith('no stream')))
      link.listen(false)
      link.listen(true)
      t.equal(clock.pending, 0)
      t.equal(gets(), 1)
      on.backend.tune({ timeout: 1_000 })
      t.equal(gets(), 1)
      on.backend.tune({ headers: { Authorization: 'Bearer new' } })
      await until('another attempt', () => gets() === 2)
      t.equal(on.upstream.seenOf('GET')[1]!.headers.authorization, 'Bearer new')
    }
  )
}

for (const [what, chance, end] of [
  ['closes', 0, (response: ServerResponse) => response.writeHead(200, sse).end()],
  ['closes with a short retry', 0, (response: ServerResponse) => response.writeHead(200, sse).end('retry: 1\n\n')],
  ['resets', 1, (response: ServerResponse) => response.socket?.resetAndDestroy()],
  ['answers with 503', 0.5, (response: ServerResponse) => response.writeHead(503).end()]
] as const) {
  t.test(`an upstream that ${what} at once is asked less than 10 times a minute (NTF-01)`, async t => {
    const { on, link, clock, gets } = await getting(t, end)
    clock.chance = chance
    link.listen(true)
    const begun = clock.now()
    let attempts = 0
    while (clock.now() - begun < 60_000) {
      await until('a wait', () => clock.pending === 1)
      attempts = gets()
      clock.advance(clock.waits.at(-1)!)
      await until('the next attempt', () => gets() === attempts + 1)
    }
    t.ok(attempts < 10, `${attempts} attempts`)
    t.ok(attempts > 3, `${attempts} attempts`)
    t.ok(Math.max(...clock.waits) <= 60_000)
    link.listen(false)
    t.equal(clock.pending, 0)
    t.same(on.received, [])
  })
}

t.test(
  'what was said while a stream was broken is told as missed, unless the stream goes on where it ended',
  async t => {
    for (const [events, expected] of [
      [false, 2],
      [true, 0]
    ] as const) {
      const clock = new StillClock()
      const on = await bench(t, { events }, { clock })
      let missed = 0
      const link = await on.open({ missed: () => void missed++ })
      link.listen(true)
      await until('the stream', () => on.upstream.listening)
      on.server.announce('notifications/a')
      await until('the message', () => on.received.length === 1)
      t.equal(missed, 0)
      for (let i = 0; i < 2; i++) {
        on.upstream.hangUp()
        await until('a wait', () => clock.pending === 1)
        clock.advance(clock.waits.at(-1)!)
        await until('the stream again', () => on.upstream.listening)
      }
      on.server.announce('notifications/b')
      await until('the message', () => on.received.length === 2)
      t.equal(missed, expected)
      link.listen(false)
      await until('the end', () => !on.upstream.listening)
      link.listen(true)
      await until('the stream', () => on.upstream.listening)
      t.equal(missed, expected, 'who did not listen missed nothing')
    }
  }
)

t.test(
  'whether somebody hears is told as it changes; a stream that goes on where it ended was always heard',
  async t => {
    for (const [events, dropped] of [
      [false, [true, false, true]],
      [true, [true]]
    ] as const) {
      const clock = new StillClock()
      const on = await bench(t, { events }, { clock })
      const heard: boolean[] = []
      const link = await on.open({ heard: on => void heard.push(on) })
      link.listen(true)
      t.same(heard, [], 'not before the stream is there')
      await until('the stream', () => on.upstream.listening)
      on.server.announce('notifications/a')
      await until('the message', () => on.received.length === 1)
      on.upstream.hangUp()
      await until('a wait', () => clock.pending === 1)
      clock.advance(clock.waits.at(-1)!)
      await until('the stream again', () => on.upstream.listening)
      on.server.announce('notifications/b')
      await until('the message', () => on.received.length === 2)
      t.same(heard, dropped)
      link.listen(false)
      link.listen(false)
      t.same(heard, [...dropped, false])
    }
    const { link, on } = await getting(t, response => void response.writeHead(405).end())
    const refused: boolean[] = []
    const other = await on.open({ heard: on => void refused.push(on) })
    other.listen(true)
    await until('it was asked', () => on.upstream.seenOf('GET').length === 1)
    await other.close()
    t.same(refused, [], 'nobody hears where there is no stream')
    await link.close()
  }
)

t.test('a stream that lived is asked for again soon, from its last event on, after its retry', async t => {
  const clock = new StillClock()
  const on = await bench(t, { events: true, retry: 7_000 }, { clock })
  const link = await on.open()
  link.listen(true)
  await until('the stream', () => on.upstream.listening)
  on.server.announce('notifications/a')
  await until('the message', () => on.received.length === 1)
  for (let i = 0; i < 3; i++) {
    clock.advance(20_000)
    on.upstream.hangUp()
    await until('the end', () => clock.pending === 1)
    t.equal(clock.waits.at(-1), 7_000)
    clock.advance(7_000)
    await until('the stream', () => on.upstream.listening)
  }
  t.same(
    on.upstream.seenOf('GET').map(({ headers }) => headers['last-event-id']),
    [undefined, 'channel_1', 'channel_1', 'channel_1']
  )
  t.equal(on.received.length, 1)
})

t.test('an event that is too large is skipped, and the stream goes on after a while', async t => {
  const clock = new StillClock()
  const on = await bench(
    t,
    {
      intercept: (request, response) => {
        if (request.method !== 'GET') return false
        response
          .writeHead(200, sse)
          .write(`id: 1\ndata: {"jsonrpc":"2.0","method":"notifications/x"}\n\ndata: ${'x'.repeat(20_000)}`)
        return true
      }
    },
    { clock, limits: { upstream: 10_000 } }
  )
  const link = await on.open()
  link.listen(true)
  await until('the drop', () => on.drops.length === 1)
  t.same(on.drops, ['too_large'])
  clock.advance(1_000)
  await until('the next', () => on.upstream.seenOf('GET').length === 2)
  t.equal(on.upstream.seenOf('GET')[1]!.headers['last-event-id'], undefined)
})

for (const status of [404, 400]) {
  t.test(`a GET that finds the session gone (${status}) ends the link, once (SES-06)`, async t => {
    const on = await bench(t, {
      intercept: (request, response) => {
        if (status === 404 || request.method === 'DELETE' || on.upstream.sessions.size > 0) return false
        if (request.headers['mcp-session-id'] === undefined) return false
        response.writeHead(400, { 'content-type': 'application/json' })
        response.end('{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}')
        return true
      }
    })
    const link = await on.open()
    on.upstream.sessions.clear()
    link.listen(true)
    await until('the end', () => on.ended.length === 1)
    t.match(on.ended, [{ code: 'backend_session_lost', backend: 'docs' }])
  })
}

t.test('an upstream that is not there is asked with back-off', async t => {
  const clock = new StillClock()
  const on = await bench(t, {}, { clock })
  const link = await on.open()
  await on.upstream.close()
  on.upstream.close = async () => {}
  link.listen(true)
  for (const wait of [1_000, 2_000, 4_000]) {
    await until('a wait', () => clock.pending === 1)
    t.equal(clock.waits.at(-1), wait)
    clock.advance(wait)
  }
  await until('a wait', () => clock.pending === 1)
  t.equal(on.backends.at(-1)!.up, false)
})

t.test('an upstream without sessions is not asked about one', async t => {
  const on = await bench(t, { sessions: false, get: 404 })
  const link = await on.open()
  link.listen(true)
  await until('the refusal', () => on.notices.some(({ text }) => text.startsWith('no stream')))
  await texts(call(link, 'echo'))
  t.same(on.server.heardOf('ping'), [])
  t.same(on.ended, [])
})
