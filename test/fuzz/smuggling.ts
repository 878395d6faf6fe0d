/**
 * The requests of the corpus with some bytes changed, against a gateway and a backend on real sockets. A strict reader of HTTP says
 * which requests are in them: the backend sees no call but those, with a framing of the gateway's own, and the response that
 * stands at the place of a request carries no other's id.
 */
import assert from 'node:assert'
import fc from 'fast-check'
import { bytesOf, corpus, type Entry, fill } from '../helpers/corpus.ts'
import { startGateway } from '../helpers/gateway.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { RawUpstream } from '../helpers/raw-upstream.ts'
import { responsesIn } from '../helpers/responses.ts'
import { readRequests, type StrictRead } from '../helpers/strict-http.ts'
import { connect } from '../helpers/wire.ts'
import type { Target } from './target.ts'

interface Running {
  readonly upstream: RawUpstream
  readonly url: string
  readonly client: RawClient
}

let running: Running | undefined

async function open(): Promise<() => Promise<void>> {
  const teardowns: (() => Promise<void>)[] = []
  const upstream = await RawUpstream.start()
  const { url } = await startGateway(
    { teardown: handler => void teardowns.push(handler) },
    { backends: { docs: { kind: 'http', era: 'legacy', url: upstream.url } }, server: { limits: { body: '64KiB' } } }
  )
  running = { upstream, url, client: await RawClient.open(url) }
  return async () => {
    for (const teardown of teardowns) await teardown()
    await upstream.close()
    running = undefined
  }
}

/** The short ones: of the others it is the length that counts. */
const requests = corpus<Entry & { readonly request: string }>('smuggling')
  .map(({ request }) => request)
  .filter(request => request.length < 2_000 && !request.includes('*'))

const inserted = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '\r\n',
      '\n',
      '\r',
      ' ',
      '\t',
      ':',
      ',',
      ';',
      '\0',
      '\x0b',
      '0',
      '1',
      'a',
      '\xff',
      '\x7f',
      '"',
      '_',
      '-'
    )
  },
  fc.constantFrom(
    'Content-Length: 0\r\n',
    'Content-Length: 5\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Transfer-Encoding: identity\r\n',
    'Connection: close\r\n',
    'Connection: Upgrade\r\nUpgrade: x\r\n',
    'Expect: 100-continue\r\n',
    'Host: localhost\r\n',
    '0\r\n\r\n',
    ' HTTP/1.1',
    'GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'chunked',
    '\r\n\r\n'
  )
)

const change = fc.oneof(
  fc.record({ at: fc.nat(), remove: fc.nat(3), insert: inserted }),
  /** A piece from elsewhere in the text. */
  fc.record({ at: fc.nat(), remove: fc.nat(30), from: fc.nat(), length: fc.nat(60) })
)

const mutated = fc
  .tuple(fc.constantFrom(...requests), fc.constantFrom(...requests, '', '', ''), fc.array(change, { maxLength: 3 }))
  .map(([first, second, changes]) => {
    let text = first + second
    for (const one of changes) {
      const at = one.at % (text.length + 1)
      const insert = 'insert' in one ? one.insert : text.slice(one.from % (text.length + 1)).slice(0, one.length)
      text = text.slice(0, at) + insert + text.slice(at + one.remove)
    }
    return text
  })

/** Sends the bytes in some pieces, then ends; gives what came back until the gateway ended too. */
async function sent(url: string, bytes: Buffer, cuts: readonly number[]): Promise<string> {
  const teardowns: (() => void)[] = []
  const wire = await connect({ teardown: handler => void teardowns.push(handler) }, url, { allowHalfOpen: true })
  try {
    wire.socket.setNoDelay(true)
    const at = [...new Set(cuts.map(cut => cut % (bytes.length + 1)))].sort((a, b) => a - b)
    for (const [i, from] of [0, ...at].entries()) {
      wire.write(bytes.subarray(from, at[i] ?? bytes.length))
      if (at.length > 0) await new Promise(resolve => setImmediate(resolve))
    }
    wire.socket.end()
    await wire.whole(10_000)
    return wire.text
  } finally {
    for (const teardown of teardowns) teardown()
  }
}

const withoutId = (body: string): string => body.replace(/"id":("[^"]*"|-?\d+)/, '"id":0')

function idOf(body: string): unknown {
  try {
    return JSON.parse(body).id
  } catch {
    return undefined
  }
}

const property = fc.asyncProperty(mutated, fc.array(fc.nat(), { maxLength: 2 }), async (text, cuts) => {
  const { upstream, url, client } = running!
  const from = upstream.requests.length
  const bytes = bytesOf(fill(text, { session: client.session! }))
  const strict = readRequests(bytes)
  const answer = await sent(url, bytes, cuts)

  // Whatever else was on its way to the backend is there before the answer to this.
  const { json } = await client.call('echo', { last: true })
  if (json?.result === undefined) {
    // One of the requests ended the session.
    running = { upstream, url, client: await RawClient.open(url) }
  }
  assert.deepEqual(upstream.faults.splice(0), [])
  const asked = strict.requests.map(({ body }) => withoutId(body.toString()))
  for (const body of upstream.calls(from).map(withoutId)) {
    if (body.includes('"last":true')) continue
    const i = asked.indexOf(body)
    assert(i !== -1, `the backend got a call that nobody made: ${body}`)
    asked.splice(i, 1)
  }
  upstream.requests.length = 0
  // Where HEAD is among them, the length of a response says nothing.
  if (!bytes.includes('HEAD ')) checkAnswers(answer, strict)
})

function checkAnswers(answer: string, { requests, end }: StrictRead): void {
  const { all, rest } = responsesIn(answer, true)
  // A stream is cut with the connection.
  if (!/^content-type: text\/event-stream\r$/im.test(rest)) assert.equal(rest, '', 'nothing but whole responses')
  const final = all.filter(({ status }) => status >= 200)
  // One more: to what is no request.
  assert(final.length <= requests.length + 1, `${final.length} responses to ${requests.length} requests`)
  for (const [i, { status, body }] of final.entries()) {
    const request = requests[i]
    const id = idOf(body)
    // One whose body does not come may be answered by its head.
    if (request === undefined)
      assert((status >= 400 || end === 'partial') && id === undefined, `an answer to nothing: ${body}`)
    else if (id !== undefined) assert.deepEqual(id, idOf(request.body.toString()), "another request's answer")
  }
}

export const smuggling = {
  properties: { 'the backend sees what was asked and the client what it asked for, whatever the bytes': property },
  open
} satisfies Target
