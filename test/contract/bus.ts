/** What every Bus does: one exported suite for all implementations. */
import t, { type Test } from 'tap'
import type { Bus } from '../../src/instances/bus.ts'
import { until } from '../helpers/until.ts'

export interface BusHarness {
  /** Two instances that hear each other; an implementation for one instance gives the same twice. */
  readonly bus: Bus
  readonly other: Bus
  close(): Promise<void>
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i)

export function busContract(name: string, make: () => Promise<BusHarness>): void {
  const test = (title: string, run: (t: Test, harness: BusHarness) => Promise<void>) =>
    t.test(`${name}: ${title}`, async t => {
      const harness = await make()
      t.teardown(() => harness.close())
      await run(t, harness)
    })

  test('whoever listens hears a payload once, also the publisher', async (t, { bus, other }) => {
    const heard: string[] = []
    await bus.subscribe('topic', payload => heard.push(`a ${payload}`))
    await other.subscribe('topic', payload => heard.push(`b ${payload}`))
    await other.subscribe('topic', payload => heard.push(`c ${payload}`))
    await bus.publish('topic', 'one')
    await until('three listeners', () => heard.length >= 3)
    t.same(heard.sort(), ['a one', 'b one', 'c one'])
  })

  test('payloads arrive as they are', async (t, { bus, other }) => {
    const heard: string[] = []
    const payloads = ['', '{"a":1}', 'ä 🚲\n\u0000\u2028', 'x'.repeat(100_000)]
    await other.subscribe('topic', payload => heard.push(payload))
    for (const payload of payloads) await bus.publish('topic', payload)
    await until('all payloads', () => heard.length >= payloads.length)
    t.same(heard, payloads)
  })

  test('listeners of one topic hear what one publisher says in order', async (t, { bus, other }) => {
    const heard: string[] = []
    await other.subscribe('topic', payload => heard.push(payload))
    await Promise.all(range(1, 100).map(i => bus.publish('topic', `${i}`)))
    await until('all payloads', () => heard.length >= 100)
    t.same(heard, range(1, 100).map(String))
  })

  test('another topic is not heard, whatever its name', async (t, { bus, other }) => {
    const heard: string[] = []
    const topics = ['a', 'a:b', 'a*', '*', '__proto__', 'constructor', '']
    for (const topic of topics) await other.subscribe(topic, payload => heard.push(`${topic} hears ${payload}`))
    for (const topic of topics) await bus.publish(topic, topic)
    await until('all topics', () => heard.length >= topics.length)
    t.same(heard.sort(), topics.map(topic => `${topic} hears ${topic}`).sort())
  })

  test('a payload without a listener is gone', async (t, { bus, other }) => {
    const heard: string[] = []
    await bus.publish('topic', 'early')
    await other.subscribe('topic', payload => heard.push(payload))
    await bus.publish('topic', 'in time')
    await until('the second', () => heard.includes('in time'))
    t.same(heard, ['in time'])
  })

  test('a listener that throws harms no other, nor the publisher', async (t, { bus, other }) => {
    const heard: string[] = []
    await other.subscribe('topic', () => {
      throw new Error('a listener broke')
    })
    await other.subscribe('topic', payload => heard.push(payload))
    await bus.publish('topic', 'one')
    await bus.publish('topic', 'two')
    await until('both', () => heard.length >= 2)
    t.same(heard, ['one', 'two'])
  })

  test('after it unsubscribed a listener hears nothing, the same function under its other subscription does', async (t, h) => {
    const heard: string[] = []
    const listener = (payload: string) => heard.push(payload)
    const first = await h.other.subscribe('topic', listener)
    const second = await h.other.subscribe('topic', listener)
    await first()
    await first()
    await h.bus.publish('topic', 'one')
    await until('one', () => heard.length >= 1)
    t.same(heard, ['one'])
    await second()
    const again = await h.other.subscribe('topic', payload => heard.push(`again ${payload}`))
    await h.bus.publish('topic', 'two')
    await until('two', () => heard.length >= 2)
    t.same(heard, ['one', 'again two'])
    await again()
  })

  test('a listener may publish, subscribe and unsubscribe; the order holds', async (t, { bus, other }) => {
    const first: string[] = []
    const second: string[] = []
    const unsubscribe = await other.subscribe('topic', payload => {
      first.push(payload)
      if (payload === '1') for (const answer of ['2', '3']) void other.publish('topic', answer)
      if (payload === '3') void unsubscribe()
    })
    await other.subscribe('topic', payload => second.push(payload))
    await bus.publish('topic', '1')
    await until('all three', () => second.length >= 3)
    await bus.publish('topic', '4')
    await until('the last', () => second.length >= 4)
    t.same(first, ['1', '2', '3'])
    t.same(second, ['1', '2', '3', '4'])
  })

  test('after close nothing is heard', async (t, { bus, other }) => {
    const heard: string[] = []
    const unsubscribe = await bus.subscribe('topic', payload => heard.push(payload))
    await bus.close()
    await other.publish('topic', 'one').catch(() => {})
    await unsubscribe().catch(() => {})
    t.same(heard, [])
  })
}
