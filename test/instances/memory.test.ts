import t from 'tap'
import { MemoryBus, MemoryPresence } from '../../src/instances/memory.ts'
import { busContract } from '../contract/bus.ts'
import { presenceContract } from '../contract/presence.ts'

// What listeners throw becomes a warning of the process, which the tests need not print.
process.removeAllListeners('warning')

presenceContract('memory', async () => {
  const running = new Set<string>()
  return { start: async () => new MemoryPresence(running), close: async () => {} }
})

busContract('memory', async () => {
  const bus = new MemoryBus()
  return { bus, other: bus, close: () => bus.close() }
})

t.test('an instance alone sees itself and nobody else', async t => {
  const a = new MemoryPresence()
  const b = new MemoryPresence()
  t.ok(await a.alive(a.id))
  t.notOk(await a.alive(b.id))
  await a.close()
  t.notOk(await a.alive(a.id))
})

t.test('listeners have heard a payload when publish returns; what broke in one is a warning', async t => {
  const bus = new MemoryBus()
  const heard: string[] = []
  const warned = new Promise<Error>(resolve => process.once('warning', resolve))
  await bus.subscribe('topic', () => {
    throw new Error('a listener broke')
  })
  await bus.subscribe('topic', payload => heard.push(payload))
  const published = bus.publish('topic', 'one')
  t.same(heard, ['one'])
  await published
  t.equal((await warned).message, 'a listener broke')
})

t.test('a payload that a listener publishes reaches everybody after the one it heard', async t => {
  const bus = new MemoryBus()
  const heard: string[] = []
  await bus.subscribe('topic', payload => {
    if (payload === 'question') void bus.publish('topic', 'answer')
  })
  await bus.subscribe('topic', payload => heard.push(payload))
  await bus.publish('topic', 'question')
  t.same(heard, ['question', 'answer'])
})
