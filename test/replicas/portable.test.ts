/** Sessions of http backends at several instances over one Redis: any request at any of them (R10, REP-01). */
import t from 'tap'
import { saying } from '../helpers/legacy.ts'
import { withoutRedis } from '../helpers/redis.ts'
import { startReplicas } from '../helpers/replicas.ts'
import { until } from '../helpers/until.ts'

const skip = withoutRedis

t.test(
  'REP-01: each request of a session at another instance; after the DELETE none of them knows it',
  { skip },
  async t => {
    const { open, at, upstream } = await startReplicas(t)
    for (let i = 0; i < 20; i++) {
      const one = await open()
      const two = at(one, 1)
      t.equal((await two.request('tools/list')).status, 200)
      t.match((await one.call('echo', { text: 'hello' })).json, { result: {} })
      t.match((await two.call('echo', { text: 'hello' })).json, { result: {} })
      t.equal((await two.delete()).status, 204)
      t.equal((await one.request('tools/list')).status, 404)
      t.equal((await two.request('tools/list')).status, 404)
    }
    t.equal(upstream.opened.size, 20, 'one upstream session for each')
    await until('their ends', () => upstream.sessions.size === 0)
  }
)

t.test(
  'a call at one instance is gone on with at another, live, without a gap or a message twice',
  { skip },
  async t => {
    const { open, at, held } = await startReplicas(t)
    const one = await open()
    const call = one.call('held', {}, { progressToken: 1 })
    const turn = await held()
    turn.progress(1)
    turn.progress(2)
    const first = await call
    await first.events.message(({ params }) => params?.progress === 2)
    const cursor = first.events.all.find(({ message }) => message?.params?.progress === 1)!.id
    const second = await at(one, 1).get(cursor)
    t.equal(second.status, 200)
    await first.events.whole()
    turn.progress(3)
    await second.events.message(({ params }) => params?.progress === 3)
    turn.answer(saying('done'))
    await second.events.whole()
    t.same(
      second.events.messages.map(({ params, result }) => params?.progress ?? result.content[0].text),
      [2, 3, 'done']
    )
    t.equal((await at(one, 1).get(second.events.lastId)).status, 405, 'it was delivered')
  }
)

t.test('the channel is where the client listens last, and goes on after what it was given', { skip }, async t => {
  const { open, at, scripted, all } = await startReplicas(t)
  const one = await open()
  const first = await one.get()
  const say = (data: string) => () =>
    scripted.outside(
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data } })
    )
  await until('somebody to listen', say('1'))
  await first.events.message(({ params }) => params?.data === '1')
  const second = await at(one, 1).get()
  await first.events.whole()
  await until('somebody else to listen', say('2'))
  await second.events.message(({ params }) => params?.data === '2')
  t.notOk(
    second.events.messages.some(({ params }) => params?.data === '1'),
    'what was given is not given again'
  )
  second.destroy()
  const streams = async () =>
    ((await (await fetch(new URL('/readyz?verbose', all[1]!.adminUrl))).json()) as { streams: number }).streams
  await until('the other connection to be gone', async () => (await streams()) === 0)
  await all[0]!.gateway.broadcast('/mcp', { method: 'notifications/message', params: { level: 'error', data: '3' } })
  const third = await one.get()
  await third.events.message(({ params }) => params?.data === '3')
  t.same(
    third.events.messages.map(({ params }) => params?.data),
    ['3']
  )
})

t.test(
  'a client that listens at two instances at once does not make them end each other for ever',
  { skip },
  async t => {
    const { open, at } = await startReplicas(t)
    const one = await open()
    let ended = 0
    for (let i = 0; i < 14; i++) {
      const { events } = await at(one, i % 2).get()
      events.whole(60_000).then(
        () => ended++,
        () => {}
      )
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    await new Promise(resolve => setTimeout(resolve, 200))
    t.ok(ended < 13, `${ended} ended`)
  }
)

t.test('an answer to a request of the backend is taken by any instance, once', { skip }, async t => {
  const { open, at, held } = await startReplicas(t)
  const one = await open({ capabilities: { elicitation: {} } })
  const call = one.call('held', {}, { progressToken: 1 })
  const turn = await held()
  const asked = turn.ask('elicitation/create', {
    message: 'Name?',
    requestedSchema: { type: 'object', properties: {} }
  })
  const { events } = await call
  const { id } = await events.message(({ method }) => method === 'elicitation/create')
  const two = at(one, 1)
  t.equal((await two.post({ id: `${id}x`, result: { action: 'accept' } })).status, 400, 'never asked')
  t.equal((await two.post({ id, result: { action: 'accept', content: { name: 'Ada' } } })).status, 202)
  t.match(await asked, { result: { action: 'accept', content: { name: 'Ada' } } })
  t.equal((await one.post({ id, result: { action: 'decline' } })).status, 202, 'late')
  turn.answer(saying('hello Ada'))
  await events.message(({ result }) => result?.content[0].text === 'hello Ada')
})

t.test('what was answered is not asked again by the instance that goes on', { skip }, async t => {
  const { open, at, held } = await startReplicas(t)
  const one = await open({ capabilities: { elicitation: {} } })
  const call = one.call('held', {}, { progressToken: 1 })
  const turn = await held()
  turn.progress(1)
  const question = { message: 'Name?', requestedSchema: { type: 'object', properties: {} } }
  const first = turn.ask('elicitation/create', question)
  const { events } = await call
  const { id } = await events.message(({ method }) => method === 'elicitation/create')
  const cursor = events.all.find(({ message }) => message?.params?.progress === 1)!.id
  await one.post({ id, result: { action: 'accept', content: {} } })
  await first
  void turn.ask('elicitation/create', question)
  await events.until(({ messages }) => messages.filter(({ method }) => method === 'elicitation/create').length === 2)
  const { events: resumed } = await at(one, 1).get(cursor)
  const again = await resumed.message(({ method }) => method === 'elicitation/create')
  t.not(again.id, id, 'the one that waits')
  t.equal(resumed.messages.length, 1)
})

t.test('a call is cancelled at any instance', { skip }, async t => {
  const { open, at, held } = await startReplicas(t)
  const one = await open()
  const call = one.call('held', {}, { progressToken: 1 })
  const turn = await held()
  turn.progress(1)
  const { events } = await call
  await at(one, 1).post({ method: 'notifications/cancelled', params: { requestId: one.lastId, reason: 'enough' } })
  t.equal(await turn.cancelled, 'enough')
  await events.whole()
})

t.test('a DELETE at one instance ends calls and streams at the others', { skip }, async t => {
  const { open, at, held, upstream } = await startReplicas(t)
  const one = await open()
  const channel = await one.get()
  const call = one.call('held', {}, { progressToken: 1 })
  const turn = await held()
  turn.progress(1)
  const { events } = await call
  t.equal((await at(one, 1).delete()).status, 204)
  await Promise.all([events.whole(), channel.events.whole(), turn.cancelled])
  await until('the end upstream', () => upstream.sessions.size === 0)
})

t.test('a level set at one instance holds at the others', { skip }, async t => {
  const { open, at, scripted } = await startReplicas(t)
  scripted.on('logging/setLevel', turn => turn.answer('{}'))
  const one = await open()
  const { events } = await one.get()
  const say = (level: string, data: string) => () =>
    scripted.outside(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level, data } }))
  await until('somebody to listen', say('info', 'before'))
  await events.message(({ params }) => params?.data === 'before')
  t.match((await at(one, 1).request('logging/setLevel', { level: 'error' })).json, { result: {} })
  await until('the level to be known', async () => {
    say('info', 'after')()
    say('error', `${events.all.length}`)()
    const seen = events.messages.filter(({ params }) => params?.data === 'after').length
    await new Promise(resolve => setTimeout(resolve, 30))
    return seen === events.messages.filter(({ params }) => params?.data === 'after').length
  })
})

t.test('an upstream session that was lost is replaced once, whoever notices first', { skip }, async t => {
  const { open, at, upstream } = await startReplicas(t)
  const one = await open()
  const two = at(one, 1)
  t.match((await two.call('echo', { text: 'a' })).json, { result: {} })
  upstream.sessions.clear()
  const all = await Promise.all([one.call('echo', { text: 'b' }), two.call('echo', { text: 'c' })])
  for (const { json } of all) t.match(json, { result: {} })
  for (let i = 0; i < 4; i++) t.match((await at(one, i % 2).call('echo', { text: 'd' })).json, { result: {} })
  await until('the one too many to be closed', () => upstream.sessions.size === 1)
})

t.test(
  'LIF-01: an instance that is shut down leaves its sessions to the others, and their upstream sessions',
  { skip },
  async t => {
    const { open, at, all, upstream } = await startReplicas(t)
    const one = await open()
    await one.call('echo', { text: 'a' })
    const { events } = await one.get()
    await all[0]!.gateway.close()
    await events.whole()
    t.equal(upstream.sessions.size, 1)
    t.match((await at(one, 1).call('echo', { text: 'b' })).json, { result: {} })
    t.equal(upstream.opened.size, 1)
  }
)

t.test(
  'REP-03: the instance that runs a call dies: the stream ends in one error within 5 s, other calls go on',
  { skip },
  async t => {
    const { open, at, held, all } = await startReplicas(t)
    const one = await open()
    const call = one.call('held', {}, { progressToken: 1 })
    const turn = await held()
    turn.progress(1)
    const { events, destroy } = await call
    await events.message(({ params }) => params?.progress === 1)
    destroy()
    // As kill -9 would have it: no word to anybody.
    await all[0]!.redis.close()
    const second = await at(one, 1).get(events.lastId)
    const began = performance.now()
    const { error, id } = await second.events.message(message => message.error !== undefined, 6_000)
    t.ok(performance.now() - began < 5_000)
    t.equal(id, one.lastId)
    t.match(error, { code: -32603, data: { reason: 'instance_gone' } })
    await second.events.whole()
    t.match((await at(one, 1).call('echo', { text: 'b' })).json, { result: {} })
  }
)

t.test('a call that said nothing yet goes on too, when its backend gave the stream an id first', { skip }, async t => {
  const { open, at, held, all, scripted } = await startReplicas(t, {
    file: { streams: { sseAfter: '500ms' } },
    upstream: { events: true, priming: true, json: false }
  })
  const one = await open()
  const call = one.call('held')
  const turn = await held()
  // An event with an id and no message.
  turn.raw('')
  const { events, destroy } = await call
  const { id } = await events.until(({ all }) => all[0])
  destroy()
  // As kill -9 would have it: no word to anybody.
  await all[0]!.redis.close()
  const second = await at(one, 1).get(id)
  const isResumed = () => scripted.heard.length > 0 && second.events.all.length > 0
  await until('the resumed stream', isResumed)
  await until('the other to be taken for dead', async () => !(await all[1]!.presence.alive(all[0]!.presence.id)))
  turn.answer(saying('done'))
  const { result } = await second.events.message(message => message.result !== undefined || message.error !== undefined)
  t.equal(result?.content[0].text, 'done')
})
