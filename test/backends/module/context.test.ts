import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import type { Context, HandlerDefinition } from '../../../src/handlers/define.ts'
import { facts } from '../../../src/telemetry/events.ts'
import { clientOf, connect, type Said, saidOf, serve } from '../../helpers/module-link.ts'
import { until } from '../../helpers/until.ts'

type Run = (context: Context) => unknown
/** One tool that does this with its context. */
const doing = (run: Run, more: Partial<HandlerDefinition> = {}) => ({
  tools: [{ name: 'it', handler: (_args: unknown, context: Context) => run(context) as object }],
  ...more
})

const progressOf = (said: readonly Said[]) =>
  said.filter(one => one.method === 'notifications/progress').map(one => one.params)

t.test('R100a, R100b: progress carries the token, of its own type, and whatever was told', async t => {
  const client = await clientOf(
    t,
    doing(({ progress }) => {
      progress(0.5)
      progress(1, 3)
      progress(2, 3, 'two')
    })
  )
  for (const progressToken of [0, '0', '', 'a', 7]) {
    t.strictSame(progressOf(await client.tool('it', {}, { progressToken })), [
      { progressToken, progress: 0.5 },
      { progressToken, progress: 1, total: 3 },
      { progressToken, progress: 2, total: 3, message: 'two' }
    ])
  }
})

t.test('R100b: 20 parallel calls of one tool each see their own token, level of progress and answers', async t => {
  const client = await clientOf(
    t,
    {
      tools: [
        {
          name: 'it',
          async handler({ n }, { progress, elicit, meta }) {
            progress(n)
            const answer = await elicit(String(n), { type: 'object', properties: { n: { type: 'string' } } })
            progress(n + 1)
            return `${n} ${answer.content?.n} ${meta.progressToken}`
          }
        }
      ]
    },
    {
      capabilities: { elicitation: {} },
      answer: async request => {
        await wait(Math.random() * 20)
        return { result: { action: 'accept', content: { n: request.params.message } } }
      }
    }
  )
  await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      const said = await client.tool('it', { n }, { progressToken: `t${n}` })
      t.strictSame(progressOf(said), [
        { progressToken: `t${n}`, progress: n },
        { progressToken: `t${n}`, progress: n + 1 }
      ])
      t.equal(said.at(-1)?.result.content[0].text, `${n} ${n} t${n}`)
    })
  )
})

t.test('R100d: without a token nothing is sent', async t => {
  const client = await clientOf(
    t,
    doing(({ progress }) => {
      progress(1)
      progress(Number.NaN)
    })
  )
  t.equal((await client.tool('it')).length, 1)
  t.equal((await client.tool('it', {}, { other: 1 })).length, 1)
})

t.test('R100f: what does not rise is dropped and counted', async t => {
  const drops: string[] = []
  t.teardown(facts.drop.subscribe(fact => drops.push(fact.reason)))
  const client = await clientOf(
    t,
    doing(({ progress }) => {
      for (const value of [-1, 2, 2, 1, Number.NaN, Number.POSITIVE_INFINITY, 3]) progress(value)
    })
  )
  const said = progressOf(await client.tool('it', {}, { progressToken: 1 }))
  t.same(
    said.map(params => params.progress),
    [-1, 2, 3]
  )
  t.same(new Set(drops), new Set(['progress_not_rising']))
  t.equal(drops.length, 4)
})

t.test('R100f: a flood of progress is thinned out, and its last value comes before the response', async t => {
  const client = await clientOf(
    t,
    doing(({ progress }) => {
      for (let i = 1; i <= 10_000; i++) progress(i, 10_000)
    })
  )
  const said = await client.tool('it', {}, { progressToken: 1 })
  const values = progressOf(said).map(params => params.progress)
  t.ok(values.length <= 20, `${values.length} were sent`)
  t.equal(values.at(-1), 10_000)
  t.ok(said.at(-1)?.result)
})

t.test('R100f: however fast the reader, the rate is bounded', async t => {
  const client = await clientOf(
    t,
    doing(async ({ progress }) => {
      for (let i = 1; i <= 500; i++) {
        progress(i)
        await turn()
      }
    })
  )
  const begun = performance.now()
  const said = progressOf(await client.tool('it', {}, { progressToken: 1 }))
  const most = 12 + (performance.now() - begun) / 20
  t.ok(said.length <= most, `${said.length} were sent, ${most} may be`)
  t.equal(said.at(-1).progress, 500)
})

t.test('R100f: what was held back is sent when its time comes, not only at the end', async t => {
  const client = await clientOf(
    t,
    doing(async ({ progress, signal }) => {
      for (let i = 1; i <= 30; i++) progress(i)
      await wait(10_000, undefined, { signal }).catch(() => {})
    })
  )
  const exchange = client.start('tools/call', { name: 'it', _meta: { progressToken: 1 } })
  let last = 0
  for await (const message of exchange) {
    last = saidOf(message).params.progress
    if (last === 30) break
  }
  t.equal(last, 30)
})

t.test('R100c: nothing is sent after the response', async t => {
  let late: Context | undefined
  const client = await clientOf(
    t,
    doing(context => {
      late = context
    })
  )
  const exchange = client.start('tools/call', { name: 'it', _meta: { progressToken: 1 } })
  t.equal((await client.all(exchange)).length, 1)
  await late?.progress(5)
  await late?.log.emergency('late')
  t.strictSame(await exchange.next(), { done: true, value: undefined })
  t.same(client.received, [])
  await t.rejects(late!.elicit('?', { type: 'object', properties: { a: { type: 'string' } } }))
})

t.test(
  'R101c: logs come on the stream of the call, with the name of the tool as logger and any JSON as data',
  async t => {
    const data = [{ a: [1, null] }, 'text', 0, null, false]
    const client = await clientOf(
      t,
      doing(({ log }) => {
        for (const one of data) log.error(one)
        log('alert', undefined)
        log.error(1n)
      })
    )
    const said = await client.tool('it')
    t.strictSame(
      said.slice(0, -1).map(one => one.params),
      [
        ...data.map(one => ({ level: 'error', logger: 'it', data: one })),
        { level: 'alert', logger: 'it', data: null },
        { level: 'error', logger: 'it', data: '1' }
      ]
    )
    t.equal(said[0]?.method, 'notifications/message')
  }
)

const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

t.test('R101c: 8 by 8 levels: what is at least as severe as the level passes', async t => {
  const client = await clientOf(
    t,
    doing(({ log }) => {
      for (const level of levels) log[level](level)
    })
  )
  for (const [i, level] of levels.entries()) {
    t.strictSame((await client.ask('logging/setLevel', { level })).result, {})
    const said = (await client.tool('it')).slice(0, -1).map(one => one.params.level)
    t.same(said, levels.slice(i), level)
  }
})

t.test('R101a: a level that is none is -32602; no logging declared: -32601', async t => {
  const client = await clientOf(
    t,
    doing(() => '')
  )
  for (const level of ['loud', 'WARNING', '', 3, undefined, null]) {
    t.match((await client.ask('logging/setLevel', { level })).error, { code: -32602 })
  }
  const silent = await clientOf(
    t,
    doing(({ log }) => log.emergency('x'), { logging: false })
  )
  t.notOk('logging' in silent.link.server.capabilities)
  t.match((await silent.ask('logging/setLevel', { level: 'debug' })).error, { code: -32601 })
  t.equal((await silent.tool('it')).length, 1)
})

t.test('R101b: each session has its own level', async t => {
  const backend = await serve(
    t,
    doing(({ log }) => {
      log.info('i')
      log.error('e')
    })
  )
  const [a, b] = [await connect(t, backend), await connect(t, backend)]
  await a.ask('logging/setLevel', { level: 'error' })
  await b.ask('logging/setLevel', { level: 'debug' })
  t.same(
    (await a.tool('it')).map(one => one.params?.level),
    ['error', undefined]
  )
  t.same(
    (await b.tool('it')).map(one => one.params?.level),
    ['info', 'error', undefined]
  )
})

t.test('R101d: before setLevel warnings pass, or what the handler says', async t => {
  const run: Run = ({ log }) => {
    for (const level of levels) log(level, level)
  }
  const usual = await clientOf(t, doing(run))
  t.equal((await usual.tool('it')).length - 1, 5)
  const chatty = await clientOf(t, doing(run, { logging: 'debug' }))
  t.equal((await chatty.tool('it')).length - 1, 8)
})

t.test('R102: a cancelled call gets nothing more, and its signal aborts with the reason', async t => {
  const reasons: unknown[] = []
  const client = await clientOf(
    t,
    doing(async ({ signal, log, progress }) => {
      progress(1)
      await wait(10_000, undefined, { signal }).catch(() => reasons.push((signal.reason as Error).message))
      log.error('after')
      progress(2)
      return 'late'
    })
  )
  const exchange = client.start('tools/call', { name: 'it', _meta: { progressToken: 1 } })
  t.equal(saidOf((await exchange.next()).value).method, 'notifications/progress')
  const waiting = exchange.next()
  exchange.cancel('enough')
  t.strictSame(await waiting, { done: true, value: undefined })
  await until('the reason', () => reasons.length === 1)
  t.same(reasons, ['enough'])
  t.strictSame(await exchange.next(), { done: true, value: undefined })
})

t.test(
  'R102: cancelling one of two calls of a tool leaves the other alone, and a signal asked for late is aborted',
  async t => {
    const contexts: Context[] = []
    const gate = Promise.withResolvers<void>()
    const client = await clientOf(
      t,
      doing(async context => {
        contexts.push(context)
        await gate.promise
        return 'done'
      })
    )
    const first = client.start('tools/call', { name: 'it' })
    const second = client.start('tools/call', { name: 'it' })
    await until('both', () => contexts.length === 2)
    first.cancel()
    t.equal(contexts[0]?.signal.aborted, true)
    t.equal(contexts[1]?.signal.aborted, false)
    gate.resolve()
    t.match((await client.all(second)).at(-1)?.result, { content: [{ text: 'done' }] })
  }
)

t.test('R102: the end of the session aborts its calls', async t => {
  const backend = await serve(
    t,
    doing(({ signal }) => new Promise(resolve => signal.addEventListener('abort', resolve)))
  )
  const client = await connect(t, backend)
  const exchange = client.start('tools/call', { name: 'it' })
  const waiting = exchange.next()
  await turn()
  await client.link.close()
  t.strictSame(await waiting, { done: true, value: undefined })
})

t.test('R103: ping is answered', async t => {
  const client = await clientOf(t, {})
  t.strictSame((await client.ask('ping')).result, {})
})

t.test('R111: roots are what the client has, none from a client without them', async t => {
  const definition = doing(async ({ roots }) => JSON.stringify(await roots()))
  const without = await clientOf(t, definition)
  t.equal((await without.result('it')).content[0].text, '[]')
  const roots = [{ uri: 'file:///a', name: 'a' }]
  const client = await clientOf(t, definition, {
    capabilities: { roots: { listChanged: true } },
    answer: request => (request.method === 'roots/list' ? { result: { roots } } : undefined)
  })
  t.equal((await client.result('it')).content[0].text, JSON.stringify(roots))
})

const question = { messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'hi' } }], maxTokens: 5 }

t.test('R112: sampling asks the client, unless it has no model, or none that takes tools', async t => {
  const answered = { role: 'assistant', model: 'm', content: { type: 'text', text: 'hello' }, stopReason: 'endTurn' }
  const definition = doing(async ({ sample }) => JSON.stringify(await sample(question)))
  const client = await clientOf(t, definition, { capabilities: { sampling: {} }, answer: () => ({ result: answered }) })
  const said = await client.tool('it')
  t.strictSame(said[0]?.params, question)
  t.equal(said.at(-1)?.result.content[0].text, JSON.stringify(answered))
  const without = await clientOf(t, definition)
  t.match(await without.tool('it'), [{ result: { isError: true, content: [{ text: /does not support sampling/ }] } }])
  const tools = await clientOf(
    t,
    doing(({ sample }) => sample({ ...question, tools: [{ name: 'x' }] })),
    {
      capabilities: { sampling: {} }
    }
  )
  t.match(await tools.tool('it'), [{ result: { isError: true, content: [{ text: /sampling with tools/ }] } }])
})

t.test('R112: a message of several blocks goes only to clients of 2025-11-25; one block is unwrapped', async t => {
  const block = { type: 'text' as const, text: 'a' }
  const sampling = (content: (typeof block)[], version: string) =>
    clientOf(
      t,
      doing(({ sample }) => sample({ maxTokens: 1, messages: [{ role: 'user', content }] })),
      {
        version,
        capabilities: { sampling: {} },
        answer: () => ({ result: {} })
      }
    )
  const now = await sampling([block, block], '2025-11-25')
  t.same((await now.tool('it'))[0]?.params.messages[0].content, [block, block])
  const one = await sampling([block], '2025-06-18')
  t.same((await one.tool('it'))[0]?.params.messages[0].content, block)
  const two = await sampling([block, block], '2025-06-18')
  t.match(await two.tool('it'), [{ result: { isError: true } }])
})

t.test('an error of the client is an error result of the tool, unless the tool takes it', async t => {
  const client = await clientOf(
    t,
    {
      tools: [
        { name: 'it', handler: (_args, { sample }) => sample(question) },
        {
          name: 'careful',
          handler: (_args, { sample }) =>
            sample(question).catch((error: Error & { code: number }) => `${error.name} ${error.code}`)
        }
      ]
    },
    { capabilities: { sampling: {} }, answer: () => ({ error: { code: -1, message: 'user rejected' } }) }
  )
  t.match(await client.result('it'), { isError: true, content: [{ text: 'user rejected' }] })
  t.match(await client.result('careful'), { content: [{ text: 'ClientError -1' }] })
})

t.test('R113: what was not asked, or is answered twice, is dropped', async t => {
  let times = 0
  const client = await clientOf(
    t,
    doing(async ({ sample }) => {
      times++
      return JSON.stringify(await sample(question))
    }),
    { capabilities: { sampling: {} } }
  )
  const exchange = client.start('tools/call', { name: 'it' })
  const asked = (await exchange.next()).value
  const { makeResult } = await import('../../../src/protocol/make.ts')
  await client.link.send(makeResult('"never"', { x: 1 }))
  await client.link.send(makeResult(asked.id, { x: 2 }))
  await client.link.send(makeResult(asked.id, { x: 3 }))
  t.equal((await client.all(exchange)).at(-1)?.result.content[0].text, '{"x":2}')
  await client.link.send(makeResult(asked.id, { x: 4 }))
  t.equal(times, 1)
})

t.test('a question that the handler did not wait for is withdrawn before the response', async t => {
  const client = await clientOf(
    t,
    doing(({ sample }) => {
      void sample(question)
      return 'done'
    }),
    { capabilities: { sampling: {} } }
  )
  const said = await client.tool('it')
  t.equal(said[0]?.method, 'sampling/createMessage')
  t.match(said[1], { method: 'notifications/cancelled', params: { requestId: said[0]?.id } })
  t.match(said[2]?.result, { content: [{ text: 'done' }] })
})

t.test('R18: closeStream asks for the connection to be closed; the call goes on', async t => {
  let closed = 0
  const client = await clientOf(
    t,
    doing(({ closeStream }) => {
      closeStream()
      return 'done'
    })
  )
  const exchange = client.start('tools/call', { name: 'it' }, () => closed++)
  t.match((await client.all(exchange)).at(-1)?.result, { content: [{ text: 'done' }] })
  t.equal(closed, 1)
  t.match(await client.result('it'), { content: [{ text: 'done' }] }, 'without anybody to close it')
})

t.test('the session keeps values for one client; other sessions do not see them', async t => {
  const backend = await serve(
    t,
    doing(({ session }) => {
      const n = Number(session.get('n') ?? 0) + 1
      session.set('n', n)
      session.set('other', 1)
      session.delete('other')
      return `${session.id} ${n} ${session.has('other')}`
    })
  )
  const [a, b] = [await connect(t, backend), await connect(t, backend)]
  const say = async (client: typeof a): Promise<string> => (await client.result('it')).content[0].text
  const [id, n, other] = (await say(a)).split(' ')
  t.same([n, other], ['1', 'false'])
  t.equal(await say(a), `${id} 2 false`)
  const [otherId, first] = (await say(b)).split(' ')
  t.not(otherId, id)
  t.equal(first, '1')
})

t.test('the context tells who calls, from where, and with what', async t => {
  const client = await clientOf(
    t,
    doing(({ principal, client, meta }) => JSON.stringify({ principal, client, meta })),
    { version: '2025-06-18', capabilities: { roots: {} } }
  )
  const said = await client.tool('it', {}, { 'x/y': 1 })
  t.strictSame(JSON.parse(said.at(-1)?.result.content[0].text), {
    principal: { key: 'anonymous' },
    client: { era: 'legacy', version: '2025-06-18', capabilities: { roots: {} }, info: { name: 'test', version: '1' } },
    meta: { 'x/y': 1 }
  })
})

t.test('a handler that logs without end, to a reader that does not read, is bounded and counted', async t => {
  let dropped = 0
  t.teardown(facts.drop.subscribe(fact => dropped++ || t.equal(fact.reason, 'handler_flood')))
  const client = await clientOf(
    t,
    doing(({ log }) => {
      for (let i = 0; i < 5_000; i++) log.error(i)
    })
  )
  const exchange = client.start('tools/call', { name: 'it' })
  await turn()
  const said = await client.all(exchange)
  t.ok(said.length < 1_100, `${said.length} were kept`)
  t.ok(dropped > 3_900)
  t.ok(said.at(-1)?.result, 'the response came')
})

t.test('a handler that never settles costs its own call only', async t => {
  const client = await clientOf(t, {
    tools: [
      { name: 'stuck', handler: () => new Promise(() => {}) },
      { name: 'good', handler: () => 'done' }
    ]
  })
  const stuck = client.start('tools/call', { name: 'stuck' })
  const waiting = stuck.next()
  t.match(await client.result('good'), { content: [{ text: 'done' }] })
  stuck.cancel()
  t.strictSame(await waiting, { done: true, value: undefined })
})
