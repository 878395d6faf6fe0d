/**
 * Requests that two readers could take differently (H1, H2, H13, H21; HTP-06), all of them against a backend that keeps the
 * bytes it gets: it sees exactly the calls that the client made, framed by the gateway, and the client one answer for each.
 */
import t from 'tap'
import { bytesOf, corpus, type Entry, fill, titleOf } from '../helpers/corpus.ts'
import { startGateway } from '../helpers/gateway.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { RawUpstream } from '../helpers/raw-upstream.ts'
import { responsesIn } from '../helpers/responses.ts'
import { connect } from '../helpers/wire.ts'

interface Smuggled extends Entry {
  readonly request: string
  /** Status of each response, followed by the id where it is the answer to one. */
  readonly answers: readonly string[]
  /** The calls that reach the backend: `arguments.n`. */
  readonly calls: readonly number[]
  readonly then: 'open' | 'closed'
  readonly ends?: boolean
  readonly head?: boolean
}

const entries = corpus<Smuggled>('smuggling')

/** Shows that the connection is where the client thinks it is: nothing of what was sent before waits in front of it. */
const last = 'GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'

t.ok(entries.length >= 100)

t.test('the backend sees what was called, once, and the client one answer to each request', async t => {
  const upstream = await RawUpstream.start()
  t.teardown(() => upstream.close())
  const { url } = await startGateway(t, {
    backends: { docs: { kind: 'http', era: 'legacy', url: upstream.url } },
    server: { limits: { body: '64KiB' } }
  })
  const client = await RawClient.open(url)
  for (const entry of entries) {
    await t.test(titleOf(entry), async t => {
      const from = upstream.requests.length
      const wire = await connect(t, url, { allowHalfOpen: true })
      wire.write(bytesOf(fill(entry.request, { session: client.session! })))
      if (entry.ends) wire.socket.end()
      const read = () => responsesIn(wire.text, wire.ended || wire.closed, entry.head)
      await wire.until(({ ended, closed }) => ended || closed || read().all.length >= entry.answers.length, 2_000)
      const open = entry.then === 'open'
      if (open) wire.write(last)
      await wire.whole(2_000).catch(() => {})
      const { all, rest } = read()
      const answers = all.map(({ status, body }) => {
        const id = body.startsWith('{') ? JSON.parse(body).id : undefined
        return id === undefined ? `${status}` : `${status} ${id}`
      })
      t.strictSame(answers, [...entry.answers, ...(open ? ['404'] : [])])
      t.equal(rest, '')
      t.ok(wire.ended || wire.closed, 'the connection ends')
      for (const { status, head, body } of all) {
        if (status < 400 || entry.head) continue
        t.match(JSON.parse(body), { jsonrpc: '2.0', error: { code: Number, message: String } })
        t.match(head, /^content-type: application\/json\r$/im)
      }
      // Whatever else was on its way to the backend is there before the answer to this.
      await client.call('echo', { n: 0 })
      t.strictSame(
        upstream.calls(from).map(body => JSON.parse(body).params.arguments.n),
        [...entry.calls, 0]
      )
      t.equal(
        upstream.requests.length - from,
        entry.calls.length + 1 + entry.answers.filter(one => one === '202').length
      )
      t.strictSame(upstream.faults, [])
    })
  }
})
