/** What every Backend does: one exported suite for all kinds. */
import t, { type Test } from 'tap'
import { anonymous } from '../../src/auth/principal.ts'
import type { Backend, Exchange, Link, OpenOptions } from '../../src/backends/backend.ts'
import { GatewayError } from '../../src/errors.ts'
import { makeResult } from '../../src/protocol/make.ts'
import { isError, type Message, readMessage, textOf, textParam } from '../../src/protocol/message.ts'
import { bytes, value } from '../../src/protocol/write.ts'
import { usedBytes } from '../helpers/memory.ts'
import { contractTools, lateText, oddResult, Scripted } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'

export interface BackendHarness {
  readonly backend: Backend
  close(): Promise<void>
}

export interface BackendContract {
  /** A backend in front of this server. `timeout` (ms) is the backend's, `upstream` (bytes) the limit of one message. */
  make(server: Scripted, options: { timeout: number; upstream: number }): Promise<BackendHarness>
  /** Cases that mean nothing to this kind, by their titles, with the reason. */
  readonly not?: Readonly<Record<string, string>>
  /** It speaks 2026-07-28. */
  readonly modern?: true
  /** What an upstream that dies takes with it: the call, or (one pipe for all) the link, which then says `ended`. */
  readonly dies: 'call' | 'link'
}

const upstreamLimit = 1024 * 1024

/** A scripted server that speaks 2026-07-28 too. */
export const speakModern = (server: Scripted): Scripted =>
  server.on('server/discover', turn =>
    turn.answer('{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}')
  )

const handshake = 'there is no handshake'
const requests = 'a modern upstream asks nothing on its own'

/** Cases that mean nothing to modern upstreams. */
export const notModern: Readonly<Record<string, string>> = {
  'a link says what the upstream said of itself, byte for byte': handshake,
  "the handshake offers the newest version and the client's own words, then says initialized": handshake,
  'an upstream may answer with 2024-11-05': handshake,
  'an upstream may answer with 2025-03-26': handshake,
  'an upstream may answer with 2025-06-18': handshake,
  'an upstream of an unknown version is refused, naming the backend': handshake,
  'an upstream that refuses initialize is backend_unavailable': handshake,
  'an upstream that is silent is given up after the time-out, and initialize is not cancelled': handshake,
  'an opening can be given up': handshake,
  "a request of the upstream is yielded with the upstream's id, and its answer gets there": requests,
  'a ping of the upstream is answered and goes no further': requests,
  'leaving the loop cancels': requests,
  'an answer gets through while many calls are open': requests,
  'what belongs to no exchange is received while somebody listens': 'nothing does',
  'notifications go upstream as they are': 'there are none',
  'a link that can move goes on elsewhere': 'there is nothing to move'
}

interface Case {
  readonly server: Scripted
  readonly backend: Backend
  open(options?: Partial<OpenOptions>): Promise<Opened>
}

interface Opened {
  readonly link: Link
  readonly received: Message[]
  readonly ended: Error[]
}

const client = {
  version: '2025-06-18',
  capabilities: '{"roots":{},"x-y":{"n":1.0}}',
  info: '{"name":"c","version":"1"}'
}

const request = (id: string, name: string, rest = '{}', meta?: string): Message =>
  readMessage(
    Buffer.from(
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${rest}` +
        `${meta === undefined ? '' : `,"_meta":${meta}`}}}`
    ),
    64
  )

const principal = { principal: anonymous }

const call = (link: Link, name: string, rest?: string, meta?: string, id = '7'): Exchange =>
  link.exchange(request(id, name, rest, meta), principal)

async function all(exchange: Exchange): Promise<Message[]> {
  const messages: Message[] = []
  for await (const message of exchange) messages.push(message)
  return messages
}

const answerOf = async (exchange: Exchange): Promise<Message> => {
  const last = (await all(exchange)).at(-1)
  if (last === undefined) throw new Error('the exchange ended without a response')
  return last
}

const wordsOf = (response: Message): string =>
  (value(response) as { result: { content: [{ text: string }] } }).result.content[0].text

const failure = async (exchange: Exchange): Promise<GatewayError> => {
  try {
    await all(exchange)
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('the exchange did not fail')
}

export function backendContract(kind: string, contract: BackendContract): void {
  const test = (title: string, run: (t: Test, on: Case) => Promise<void>, timeout = 10_000): void => {
    const skip = contract.not?.[title]
    void t.test(`${kind}: ${title}`, skip === undefined ? {} : { skip }, async t => {
      const server = contractTools(new Scripted())
      const harness = await contract.make(server, { timeout, upstream: upstreamLimit })
      const links: Link[] = []
      t.teardown(async () => {
        await Promise.all(links.map(link => link.close()))
        await harness.close()
      })
      const open = async (options: Partial<OpenOptions> = {}): Promise<Opened> => {
        const received: Message[] = []
        const ended: Error[] = []
        const link = await harness.backend.open({
          principal: anonymous,
          client,
          signal: new AbortController().signal,
          receive: message => received.push(message),
          ended: reason => ended.push(reason),
          ...options
        })
        links.push(link)
        return { link, received, ended }
      }
      await run(t, { server, backend: harness.backend, open })
    })
  }

  test('a link says what the upstream said of itself, byte for byte', async (t, { server, open }) => {
    const { link } = await open()
    t.equal(link.era, 'legacy')
    t.equal(link.server.version, '2025-11-25')
    t.same(link.server.capabilities, { tools: { listChanged: true }, logging: {} })
    t.equal(link.server.result, server.initializeResult)
  })

  test("the handshake offers the newest version and the client's own words, then says initialized", async (t, on) => {
    await on.open()
    const [initialize] = on.server.heardOf('initialize')
    t.equal(textParam(initialize!, 'protocolVersion'), '"2025-11-25"')
    t.equal(textParam(initialize!, 'capabilities'), client.capabilities)
    t.equal(textParam(initialize!, 'clientInfo'), client.info)
    await until('initialized', () => on.server.heardOf('notifications/initialized').length === 1)
  })

  for (const version of ['2024-11-05', '2025-03-26', '2025-06-18']) {
    test(`an upstream may answer with ${version}`, async (t, { server, open }) => {
      server.initializeResult = `{"protocolVersion":"${version}","capabilities":{}}`
      const { link } = await open()
      t.equal(link.server.version, version)
      t.same(link.server.capabilities, {})
    })
  }

  test('an upstream of an unknown version is refused, naming the backend', async (t, { server, backend, open }) => {
    server.initializeResult = '{"protocolVersion":"1999-01-01","capabilities":{}}'
    const error = await open().then(
      () => undefined,
      (error: unknown) => error
    )
    t.ok(error instanceof GatewayError)
    t.match((error as GatewayError).code, /^backend_(invalid|unavailable)$/)
    t.equal((error as GatewayError).backend, backend.name)
  })

  test('an upstream that refuses initialize is backend_unavailable', async (t, { server, open }) => {
    server.on('initialize', turn => turn.refuse(-32602, 'not you'))
    await t.rejects(open(), { code: 'backend_unavailable' })
  })

  test(
    'an upstream that is silent is given up after the time-out, and initialize is not cancelled',
    async (t, { server, open }) => {
      server.on('initialize', () => {})
      await t.rejects(open(), { code: 'timeout' })
      t.same(server.heardOf('notifications/cancelled'), [])
    },
    300
  )

  test('an opening can be given up', async (t, { server, open }) => {
    server.on('initialize', () => {})
    const controller = new AbortController()
    const opening = open({ signal: controller.signal })
    await until('initialize', () => server.heardOf('initialize').length === 1)
    controller.abort(new GatewayError('shutdown', 'enough'))
    await t.rejects(opening)
    t.same(server.heardOf('notifications/cancelled'), [])
  })

  test("the response carries the caller's id as it was written", async (t, { server, open }) => {
    const { link } = await open()
    for (const id of ['1', '-3', '9007199254740993', '"a"', '""', '"1"', '"\\u0041"']) {
      const response = await answerOf(call(link, 'echo', '{"x":1}', undefined, id))
      t.equal(response.id, id)
      t.equal(textOf(bytes(response), readMessage(bytes(response), 64).scanned.top, 'id'), id)
    }
    const ids = server.heardOf('tools/call').map(message => message.id)
    t.equal(new Set(ids).size, ids.length, 'no id was used twice upstream')
  })

  test('calls with the same id at once get each its own response', async (t, { open }) => {
    const { link } = await open()
    const texts = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => wordsOf(await answerOf(call(link, 'echo', `{"i":${i}}`))))
    )
    t.same(
      texts,
      Array.from({ length: 20 }, (_, i) => `{"i":${i}}`)
    )
  })

  test('results pass byte for byte', async (t, { open }) => {
    const { link } = await open()
    const response = await answerOf(call(link, 'odd'))
    const text = bytes(response)
    t.equal(textOf(text, readMessage(text, 64).scanned.top, 'result'), oddResult)
  })

  test('arguments pass byte for byte', async (t, { server, open }) => {
    const { link } = await open()
    const odd = '{"b":9007199254740993,"a":[1.0,-0,1e400,null,[]],"s":"\\u0041\u2028","_meta":{"x":1.50}}'
    t.equal(wordsOf(await answerOf(call(link, 'echo', odd, '{"x/y":1.0}'))), odd)
    const [sent] = server.heardOf('tools/call')
    const meta = textParam(sent!, '_meta')!
    if (contract.modern) t.ok(meta.endsWith(',"x/y":1.0}'), 'after what the modern era has there')
    else t.equal(meta, '{"x/y":1.0}')
  })

  for (const token of ['1', '0', '"1"', '""', '"a\\u0041"']) {
    test(`progress comes before the response, in order, with the token ${token} as it was written`, async (t, on) => {
      const { link } = await on.open()
      const messages = await all(call(link, 'progress', '{}', `{"progressToken":${token}}`))
      t.same(
        messages.slice(0, -1).map(message => [message.method, textParam(edited(message), 'progressToken')]),
        Array.from({ length: 3 }, () => ['notifications/progress', token])
      )
      t.same(
        messages.slice(0, -1).map(message => textParam(edited(message), 'progress')),
        ['1', '2', '3']
      )
      t.equal(messages.at(-1)!.kind, 'response')
    })
  }

  test('progress that belongs to no call, and responses to nobody, are dropped', async (t, { open }) => {
    const { link, received } = await open()
    const messages = await all(call(link, 'stray', '{}', '{"progressToken":5}'))
    t.same(
      messages.map(message => message.kind),
      ['response']
    )
    t.equal(wordsOf(messages[0]!), 'done')
    t.equal(wordsOf(await answerOf(call(link, 'echo'))), '{}', 'what came late is not the next call')
    t.same(received, [])
  })

  test("a request of the upstream is yielded with the upstream's id, and its answer gets there", async (t, on) => {
    const { link } = await on.open()
    const exchange = call(link, 'ask')
    const { value: asked } = await exchange.next()
    t.equal(asked?.kind, 'request')
    t.equal(asked.method, 'elicitation/create')
    await link.send(makeResult(asked.id!, { action: 'accept', content: { name: 'Ada' } }))
    const response = await answerOf(exchange)
    t.equal(wordsOf(response), '{"action":"accept","content":{"name":"Ada"}}')
    t.equal(on.server.heard.filter(message => message.kind === 'response').length, 1)
  })

  test('a ping of the upstream is answered and goes no further', async (t, { open }) => {
    const { link, received } = await open()
    const messages = await all(call(link, 'ping'))
    t.equal(messages.length, 1)
    t.equal(wordsOf(messages[0]!), '{}')
    t.same(received, [])
  })

  test('an error of the upstream is a response like any other', async (t, { open }) => {
    const { link } = await open()
    const response = await answerOf(call(link, 'refuse'))
    t.ok(isError(response))
    t.match(value(response), { id: 7, error: { code: -32042, message: 'no', data: { why: ['because'] } } })
  })

  test('an id that comes back as a string is repaired', async (t, { open }) => {
    const { link } = await open()
    const response = await answerOf(call(link, 'string'))
    t.equal(response.id, '7')
    t.equal(wordsOf(response), 'done')
  })

  test('texts that are no messages are skipped', async (t, { open }) => {
    const { link } = await open()
    t.equal(wordsOf(await answerOf(call(link, 'garbage'))), 'done')
  })

  test('after the response the exchange is done', async (t, { open }) => {
    const { link } = await open()
    const exchange = call(link, 'echo')
    await all(exchange)
    t.same(await exchange.next(), { done: true, value: undefined })
    exchange.cancel('too late')
    exchange.detach()
    t.same(await exchange.return?.(), { done: true, value: undefined })
  })

  test('cancel settles a waiting read, tells the upstream, and nothing comes after it (CAN-01)', async (t, on) => {
    const { link, received } = await on.open()
    const exchange = call(link, 'slow', '{}', undefined, '"a"')
    const waiting = exchange.next()
    await until('the call', () => on.server.heardOf('tools/call').length === 1)
    exchange.cancel('changed my mind')
    t.same(await waiting, { done: true, value: undefined })
    t.same(await exchange.next(), { done: true, value: undefined })
    await until('the cancel', () => on.server.heardOf('notifications/cancelled').length === 1)
    const [sent] = on.server.heardOf('tools/call')
    const [cancelled] = on.server.heardOf('notifications/cancelled')
    t.equal(textParam(cancelled!, 'requestId'), sent!.id, "with the upstream's id")
    t.equal(textParam(cancelled!, 'reason'), '"changed my mind"')
    t.not(wordsOf(await answerOf(call(link, 'echo', undefined, undefined, '"a"'))), lateText)
    t.same(received, [])
  })

  test('leaving the loop cancels', async (t, { server, open }) => {
    const { link } = await open()
    for await (const message of call(link, 'ask')) {
      t.equal(message.kind, 'request')
      break
    }
    await until('the cancel', () => server.heardOf('notifications/cancelled').length === 1)
  })

  test('detach tells the upstream nothing', async (t, { server, open }) => {
    const { link } = await open()
    const exchange = call(link, 'never')
    const waiting = exchange.next()
    await until('the call', () => server.heardOf('tools/call').length === 1)
    exchange.detach()
    t.same(await waiting, { done: true, value: undefined })
    t.same(await exchange.next(), { done: true, value: undefined })
    await answerOf(call(link, 'echo'))
    t.same(server.heardOf('notifications/cancelled'), [])
  })

  test('what belongs to no exchange is received while somebody listens', async (t, { server, open }) => {
    const { link, received } = await open()
    link.listen(true)
    link.listen(true)
    await until('an ear', () => server.announce('notifications/tools/list_changed', { x: 1 }))
    await until('the change', () => received.length === 1)
    t.equal(
      bytes(received[0]!).toString(),
      '{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"x":1}}'
    )
    link.listen(false)
    link.listen(false)
  })

  test('notifications go upstream as they are', async (t, { server, open }) => {
    const { link } = await open()
    const text = '{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"n":1.0}}'
    await link.send(readMessage(Buffer.from(text), 64))
    await until('it', () => server.heardOf('notifications/roots/list_changed').length === 1)
    t.equal(bytes(server.heardOf('notifications/roots/list_changed')[0]!).toString(), text)
  })

  test('an upstream that dies in a call fails it once, naming the backend (SSE-10)', async (t, { backend, open }) => {
    const { link, ended } = await open()
    const exchange = call(link, 'die')
    const error = await failure(exchange)
    t.equal(error.code, 'backend_broke')
    t.equal(error.backend, backend.name)
    t.same(await exchange.next(), { done: true, value: undefined })
    if (contract.dies === 'link') {
      await until('the end', () => ended.length === 1)
      t.ok((await failure(call(link, 'echo'))) instanceof GatewayError)
    } else {
      t.equal(wordsOf(await answerOf(call(link, 'echo'))), '{}')
      t.same(ended, [])
    }
  })

  test('a message over the limit fails its call and nothing else (SSE-06)', async (t, { open }) => {
    const { link, ended } = await open()
    t.equal((await failure(call(link, 'large', `{"size":${2 * upstreamLimit}}`))).code, 'backend_too_large')
    t.equal(wordsOf(await answerOf(call(link, 'echo'))), '{}')
    t.equal(
      wordsOf(await answerOf(call(link, 'large', `{"size":${upstreamLimit - 1000}}`))).length,
      upstreamLimit - 1000
    )
    t.same(ended, [])
  })

  test('a flood that is read slowly keeps its order', async (t, { open }) => {
    const { link } = await open()
    const exchange = call(link, 'flood', '{"count":2000}')
    await new Promise(resolve => setTimeout(resolve, 50))
    const messages = await all(exchange)
    t.same(
      messages.slice(0, -1).map(message => (value(message) as { params: { data: number } }).params.data),
      Array.from({ length: 2000 }, (_, i) => i)
    )
    t.equal(messages.at(-1)!.kind, 'response')
  })

  test('an answer gets through while many calls are open', async (t, { server, open }) => {
    const { link } = await open()
    const open_ = Array.from({ length: 200 }, (_, i) => call(link, 'never', '{}', undefined, String(i)))
    const reads = open_.map(exchange => exchange.next())
    await until('the calls', () => server.heardOf('tools/call').length === 200)
    const begun = performance.now()
    const exchange = call(link, 'ask')
    const { value: asked } = await exchange.next()
    await link.send(makeResult(asked.id!, { action: 'decline' }))
    t.equal(wordsOf(await answerOf(exchange)), '{"action":"decline"}')
    t.ok(performance.now() - begun < 2_000)
    for (const one of open_) one.detach()
    await Promise.all(reads)
  })

  test('close ends open exchanges as cancelled and is done once', async (t, { server, open }) => {
    const { link, ended } = await open()
    const exchange = call(link, 'never')
    const waiting = exchange.next()
    await until('the call', () => server.heardOf('tools/call').length === 1)
    await link.close()
    t.same(await waiting, { done: true, value: undefined })
    await link.close()
    t.same(ended, [], 'nobody is told of an end that was asked for')
    t.ok((await failure(call(link, 'echo'))) instanceof GatewayError)
    await t.rejects(link.send(makeResult('"x"', {})))
  })

  test('a link that can move goes on elsewhere', async (t, { server, open }) => {
    const { link } = await open()
    await answerOf(call(link, 'echo'))
    if (link.state === undefined) return void t.pass('it cannot')
    const moved = await open({ state: link.state })
    t.equal(wordsOf(await answerOf(call(moved.link, 'echo'))), '{}')
    t.equal(moved.link.server.result, link.server.result)
    t.equal(server.heardOf('initialize').length, 1)
    const ids = server.heard.map(message => message.id).filter(id => id !== undefined)
    t.equal(new Set(ids).size, ids.length, 'no id was used twice in the session')
  })

  test('thousands of exchanges leave nothing behind', async (t, { server, open }) => {
    const { link } = await open()
    const round = async (): Promise<void> => {
      for (let i = 0; i < 50; i++)
        await Promise.all(Array.from({ length: 20 }, () => all(call(link, 'progress', '{}', '{"progressToken":1}'))))
      server.forget()
    }
    await round()
    const before = await usedBytes()
    await round()
    await round()
    const grown = (await usedBytes()) - before
    t.ok(grown < 600_000, `2,000 exchanges kept ${grown} bytes`)
  })
}

const edited = (message: Message): Message => readMessage(bytes(message), 64)
