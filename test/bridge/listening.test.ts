/** One subscription for many, with an upstream that the test plays. */
import t from 'tap'
import type { Exchange } from '../../src/backends/backend.ts'
import { Queue } from '../../src/backends/queue.ts'
import { Listening, type Member } from '../../src/bridge/listening.ts'
import { GatewayError } from '../../src/errors.ts'
import { makeError, makeNotification, makeResult } from '../../src/protocol/make.ts'
import type { Message } from '../../src/protocol/message.ts'
import { value } from '../../src/protocol/write.ts'
import { until } from '../helpers/until.ts'

const tag = 'io.modelcontextprotocol/subscriptionId'

class Stream {
  readonly filter: any
  readonly queue: Queue
  closed = false

  constructor(request: Message) {
    this.filter = (value(request) as any).params.notifications
    this.queue = new Queue({
      cancel: () => {
        this.closed = true
      },
      detach: () => {}
    })
  }

  acknowledge(notifications = this.filter): void {
    this.say('notifications/subscriptions/acknowledged', { notifications })
  }

  say(method: string, params: object = {}): void {
    this.queue.push(makeNotification(method, { _meta: { [tag]: 0 }, ...params }))
  }
}

class Hearer implements Member {
  readonly lists = new Set<string>()
  readonly uris = new Set<string>()
  readonly heard: any[] = []

  tell(message: Message): void {
    const { method, params } = value(message) as any
    this.heard.push(params === undefined || params.uri === undefined ? [method] : [method, params])
  }
}

function on() {
  const streams: Stream[] = []
  const upstream = {
    exchange(request: Message): Exchange {
      streams.push(new Stream(request))
      return streams.at(-1)!.queue
    }
  }
  return { streams, listening: new Listening(upstream, 'docs') }
}

const tools = 'notifications/tools/list_changed'
const updated = 'notifications/resources/updated'

t.test('one stream for all, with the union of what they want; each hears what it wants', async t => {
  const { streams, listening } = on()
  const [one, two] = [new Hearer(), new Hearer()]
  one.lists.add('tools')
  two.lists.add('tools').add('prompts')
  two.uris.add('a:b')
  const changed = [listening.changed(one), listening.changed(two)]
  await until('the first', () => streams.length === 1)
  streams[0]!.acknowledge()
  await until('the second', () => streams.length === 2)
  t.same(streams[1]!.filter, { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['a:b'] })
  t.notOk(streams[0]!.closed, 'not before the larger one is acknowledged')
  streams[1]!.acknowledge()
  await Promise.all(changed)
  await until('the smaller one is closed', () => streams[0]!.closed)
  streams[1]!.say(tools)
  streams[1]!.say(updated, { uri: 'a:b/c' })
  streams[1]!.say(updated, { uri: 'x:y' })
  streams[1]!.say('notifications/other')
  streams[1]!.say('notifications/prompts/list_changed')
  await until('all', () => two.heard.length === 3)
  t.same(one.heard, [[tools]])
  t.same(two.heard, [[tools], [updated, { uri: 'a:b/c' }], ['notifications/prompts/list_changed']])
  await listening.changed(one)
  t.equal(streams.length, 2, 'nothing new is wanted')
  listening.leave(one)
  t.notOk(streams[1]!.closed)
  listening.leave(two)
  t.ok(streams[1]!.closed)
})

t.test('what both streams say when one takes the place of the other is told once', async t => {
  const { streams, listening } = on()
  const one = new Hearer()
  one.lists.add('tools')
  const first = listening.changed(one)
  streams[0]!.acknowledge()
  await first
  one.uris.add('a:b')
  const second = listening.changed(one)
  await until('the second', () => streams.length === 2)
  streams[0]!.say(tools)
  await until('it', () => one.heard.length === 1)
  streams[1]!.acknowledge()
  streams[1]!.say(tools)
  streams[1]!.say(tools)
  await second
  await until('another change', () => one.heard.length === 2)
  t.same(one.heard, [[tools], [tools]])
  listening.leave(one)
})

t.test('what was told before another stream is opened is another change when it comes again', async t => {
  const { streams, listening } = on()
  const one = new Hearer()
  one.lists.add('tools')
  const first = listening.changed(one)
  streams[0]!.acknowledge()
  await first
  streams[0]!.say(tools)
  await until('it', () => one.heard.length === 1)
  one.uris.add('a:b')
  const second = listening.changed(one)
  await until('the second', () => streams.length === 2)
  streams[1]!.acknowledge()
  await second
  streams[1]!.say(tools)
  await until('the other change', () => one.heard.length === 2)
  t.same(one.heard, [[tools], [tools]])
  listening.leave(one)
})

t.test('only what is honoured is', async t => {
  const { streams, listening } = on()
  const one = new Hearer()
  one.uris.add('a:b').add('c:d')
  const changed = listening.changed(one)
  streams[0]!.acknowledge({ resourceSubscriptions: ['a:b', 7] })
  await changed
  t.ok(listening.honours('a:b'))
  t.notOk(listening.honours('c:d'))
  listening.leave(one)
})

t.test('nothing honoured: the stream is not asked for again, but for more', async t => {
  const { streams, listening } = on()
  const one = new Hearer()
  one.lists.add('tools')
  const changed = listening.changed(one)
  streams[0]!.acknowledge({})
  await changed
  streams[0]!.queue.finish(makeResult('0', {}))
  await new Promise(resolve => setTimeout(resolve, 20))
  await listening.changed(one)
  t.equal(streams.length, 1)
  one.uris.add('a:b')
  const more = listening.changed(one)
  await until('another', () => streams.length === 2)
  streams[1]!.acknowledge()
  await more
  listening.leave(one)
})

t.test('an upstream that has no such method is not asked again', async t => {
  const { streams, listening } = on()
  const one = new Hearer()
  one.lists.add('tools')
  const changed = listening.changed(one)
  streams[0]!.queue.finish(makeError('0', -32601, 'no'))
  await changed
  await listening.changed(one)
  t.equal(streams.length, 1)
  listening.leave(one)
})

t.test('a stream that drops is listened to again, and what may have been missed is told', async t => {
  const { streams, listening } = on()
  const one = new Hearer()
  one.lists.add('tools').add('prompts')
  const changed = listening.changed(one)
  streams[0]!.acknowledge({ toolsListChanged: true })
  await changed
  streams[0]!.queue.fail(new GatewayError('backend_broke', 'gone'))
  await until('another', () => streams.length === 2)
  streams[1]!.acknowledge()
  await until('the change', () => one.heard.length > 0)
  t.same(one.heard, [[tools]])
  listening.leave(one)
})

t.test('an upstream that acknowledges nothing is an error, and the next one tries again', async t => {
  const { streams, listening } = on()
  const one = new Hearer()
  one.lists.add('tools')
  const changed = listening.changed(one)
  streams[0]!.queue.finish(makeResult('0', {}))
  await t.rejects(changed, { code: 'backend_invalid' })
  const again = listening.changed(one)
  await until('another', () => streams.length === 2)
  streams[1]!.acknowledge()
  await again
  listening.leave(one)
})

t.test('who left before the acknowledgement leaves no stream', async t => {
  const { streams, listening } = on()
  const one = new Hearer()
  one.lists.add('tools')
  const changed = listening.changed(one)
  listening.leave(one)
  streams[0]!.acknowledge()
  await changed
  t.ok(streams[0]!.closed)
})
