/** What every SessionStore does (R2, R13, R26, SES-15): one exported suite for all implementations. */
import t, { type Test } from 'tap'
import type { Caps, SessionRecord, SessionStore } from '../../src/sessions/session.ts'

export interface SessionStoreHarness {
  /** Two instances on one store; an implementation for one instance gives the same twice. */
  readonly store: SessionStore
  readonly other: SessionStore
  /** Moves the time that the store goes by; a store with a time of its own really waits. */
  advance(ms: number): Promise<void>
  close(): Promise<void>
}

/** Tests move the time by this. */
const ttl = 400
const caps: Caps = { total: 1_000, perGroup: 1_000 }

const record = (id: string, more: Partial<SessionRecord> = {}): SessionRecord => ({
  id,
  revision: 0,
  route: '/mcp',
  principal: 'anonymous',
  group: '127.0.0.1',
  client: { version: '2025-11-25', capabilities: '{"roots":{}}', info: '{"name":"c","version":"1"}' },
  operating: false,
  subscriptions: [],
  links: {},
  ...more
})

const full: SessionRecord = record('full', {
  revision: 7,
  operating: true,
  level: 'debug',
  subscriptions: ['file:///ä b', ''],
  owner: 'instance-1',
  listener: 'instance-2',
  links: { identity: '{"session":"\\u0000 ä 🚲"}', constructor: '{}' }
})

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i)

export function sessionStoreContract(name: string, make: () => Promise<SessionStoreHarness>): void {
  const test = (title: string, run: (t: Test, harness: SessionStoreHarness) => Promise<void>) =>
    t.test(`${name}: ${title}`, async t => {
      const harness = await make()
      t.teardown(() => harness.close())
      await run(t, harness)
    })

  test('a record is read as it was written, by any instance', async (t, { store, other }) => {
    t.equal(await store.create(full, ttl, caps), 'created')
    t.equal(await store.create(record('small'), ttl, caps), 'created')
    t.same(await other.get('full', ttl), full)
    t.same(await other.get('small', ttl), record('small'))
    t.ok(await other.has('full'))
    t.equal(await other.count(), 2)
  })

  test('R13: a session that never was, or was deleted, is not there', async (t, { store, other }) => {
    t.equal(await store.get('unknown', ttl), undefined)
    t.notOk(await store.has('unknown'))
    t.notOk(await store.delete('unknown'))
    t.notOk(await store.replace(record('unknown'), record('unknown', { revision: 1 })))
    await store.create(record('a'), ttl, caps)
    t.ok(await other.delete('a'))
    t.notOk(await store.delete('a'))
    t.equal(await store.get('a', ttl), undefined)
    t.notOk(await store.has('a'))
    t.notOk(await store.replace(record('a'), record('a', { revision: 1 })))
    t.equal(await store.get('a', ttl), undefined, 'a replacement brings nothing back')
    t.equal(await store.count(), 0)
  })

  test('two delete, one did it', async (t, { store, other }) => {
    await store.create(record('a'), ttl, caps)
    const done = await Promise.all([store.delete('a'), other.delete('a'), store.delete('a')])
    t.equal(done.filter(Boolean).length, 1)
  })

  test('an id is used once', async (t, { store, other }) => {
    await store.create(record('a'), ttl, caps)
    await t.rejects(other.create(record('a', { route: '/else' }), ttl, caps))
    t.same(await store.get('a', ttl), record('a'))
    t.equal(await store.count(), 1)
  })

  test('R26, SES-15: a session expires when nobody gets it for its time', async (t, { store, other, advance }) => {
    await store.create(record('idle'), ttl, caps)
    await store.create(record('used'), ttl, caps)
    await store.create(record('asked'), ttl, caps)
    for (let i = 0; i < 2; i++) {
      await advance(ttl * 0.6)
      t.ok(await other.get('used', ttl))
      if (i === 0) t.ok(await other.has('asked'))
    }
    t.notOk(await store.has('idle'))
    t.equal(await store.get('idle', ttl), undefined)
    t.notOk(await store.has('asked'), 'has does not refresh')
    t.equal(await store.count(), 1)
    await advance(ttl * 2)
    t.equal(await store.get('used', ttl), undefined)
    t.notOk(await store.delete('used'))
    t.equal(await store.count(), 0)
  })

  test('replacing does not refresh; the time to live of the last get counts', async (t, { store, advance }) => {
    await store.create(record('a'), ttl * 10, caps)
    await store.get('a', ttl)
    await advance(ttl * 0.6)
    t.ok(await store.replace(record('a'), record('a', { revision: 1 })))
    await advance(ttl * 0.6)
    t.equal(await store.get('a', ttl), undefined)
  })

  test('a replacement needs the revision that is there', async (t, { store, other }) => {
    const first = record('a')
    const second = record('a', { revision: 1, operating: true, level: 'info' })
    const third = record('a', { revision: 2, operating: true })
    await store.create(first, ttl, caps)
    t.ok(await other.replace(first, second))
    t.same(await store.get('a', ttl), second)
    t.notOk(await store.replace(first, record('a', { revision: 1 })))
    t.same(await store.get('a', ttl), second)
    t.ok(await store.replace(second, third))
    t.same(await store.get('a', ttl), third, 'a member that is not in the next record is gone')
  })

  test('a replacement is of the same session and its next revision', async (t, { store }) => {
    await store.create(record('a'), ttl, caps)
    await store.create(record('b'), ttl, caps)
    await t.rejects(store.replace(record('a'), record('a')), TypeError)
    await t.rejects(store.replace(record('a'), record('a', { revision: 2 })), TypeError)
    await t.rejects(store.replace(record('a'), record('b', { revision: 1 })), TypeError)
    await t.rejects(store.replace(record('a'), record('a', { revision: 1, group: 'else' })), TypeError)
    t.same(await store.get('b', ttl), record('b'))
  })

  test('many replace at once: one wins each round, and with new tries nothing is lost', async (t, { store, other }) => {
    await store.create(record('a'), ttl * 10, caps)
    const once = await Promise.all(
      range(1, 20).map(i =>
        (i % 2 === 0 ? store : other).replace(record('a'), record('a', { revision: 1, level: `${i}` }))
      )
    )
    t.equal(once.filter(Boolean).length, 1)
    t.equal((await store.get('a', ttl * 10))?.level, `${once.indexOf(true) + 1}`)

    const add = async (uri: string, via: SessionStore): Promise<void> => {
      for (;;) {
        const now = await via.get('a', ttl * 10)
        if (now === undefined) throw new Error('the session is gone')
        const next = { ...now, revision: now.revision + 1, subscriptions: [...now.subscriptions, uri] }
        if (await via.replace(now, next)) return
      }
    }
    await Promise.all(range(1, 20).map(i => add(`uri:${i}`, i % 2 === 0 ? store : other)))
    const end = await store.get('a', ttl * 10)
    t.equal(end?.revision, 21)
    t.same(
      end?.subscriptions.toSorted(),
      range(1, 20)
        .map(i => `uri:${i}`)
        .sort()
    )
  })

  test('200 parallel creates against a cap of 100: 100 are created', async (t, { store, other }) => {
    const outcomes = await Promise.all(
      range(1, 200).map(i =>
        (i % 2 === 0 ? store : other).create(record(`${i}`, { group: `${i % 7}` }), ttl * 10, {
          total: 100,
          perGroup: 100
        })
      )
    )
    t.equal(outcomes.filter(outcome => outcome === 'created').length, 100)
    t.equal(outcomes.filter(outcome => outcome === 'full').length, 100)
    t.equal(await store.count(), 100)
    for (const [i, outcome] of outcomes.entries()) t.equal(await store.has(`${i + 1}`), outcome === 'created')
  })

  test('the cap of a group is its own', async (t, { store, other }) => {
    const few: Caps = { total: 100, perGroup: 10 }
    const outcomes = await Promise.all(
      range(1, 40).map(i =>
        (i % 3 === 0 ? store : other).create(record(`${i}`, { group: i > 10 ? 'many' : 'few' }), ttl, few)
      )
    )
    t.equal(outcomes.slice(0, 10).filter(outcome => outcome === 'created').length, 10)
    t.equal(outcomes.slice(10).filter(outcome => outcome === 'created').length, 10)
    t.equal(outcomes.slice(10).filter(outcome => outcome === 'group-full').length, 20)
    t.equal(await store.create(record('one more', { group: 'third' }), ttl, { total: 20, perGroup: 10 }), 'full')
    t.equal(
      await store.create(record('both', { group: 'many' }), ttl, { total: 20, perGroup: 10 }),
      'full',
      'rather than group-full'
    )
  })

  test('what is deleted or expired makes room, whatever its time to live', async (t, { store, other, advance }) => {
    const two: Caps = { total: 3, perGroup: 2 }
    await store.create(record('long', { group: 'else' }), ttl * 100, two)
    await store.create(record('a'), ttl * 100, two)
    await store.create(record('b'), ttl, two)
    t.equal(await other.create(record('c'), ttl, two), 'full')
    t.equal(await other.create(record('c'), ttl, { ...two, total: 4 }), 'group-full')
    await advance(ttl * 1.5)
    t.equal(await other.create(record('c'), ttl * 100, two), 'created')
    t.equal(await other.create(record('d'), ttl, two), 'full')
    await store.delete('a')
    t.equal(await other.create(record('d'), ttl, two), 'created')
    t.same((await ids(store)).sort(), ['c', 'd', 'long'])
  })

  test('a get keeps the place of its session below the caps', async (t, { store, other, advance }) => {
    const one: Caps = { total: 10, perGroup: 1 }
    await store.create(record('a'), ttl, one)
    await advance(ttl * 0.6)
    await other.get('a', ttl)
    await advance(ttl * 0.6)
    t.equal(await store.create(record('b'), ttl, one), 'group-full')
  })

  test('list gives every session of a route and of no other', async (t, { store, other, advance }) => {
    for (const i of range(1, 300)) {
      await store.create(
        record(`${i}`, { route: i % 3 === 0 ? '/mcp/docs' : '/mcp' }),
        i % 50 === 0 ? ttl : ttl * 100,
        caps
      )
    }
    await advance(ttl * 1.5)
    const listed = await ids(other)
    t.same(
      listed.sort(),
      range(1, 300)
        .filter(i => i % 3 !== 0 && i % 50 !== 0)
        .map(String)
        .sort()
    )
    t.same(await ids(other, '/unknown'), [])
    for await (const each of other.list('/mcp/docs')) t.same(each, record(each.id, { route: '/mcp/docs' }))
  })

  test('sessions deleted, got and made while the list goes on harm nothing', async (t, { store, other }) => {
    for (const i of range(1, 300)) await store.create(record(`${i}`), ttl * 100, caps)
    const listed: string[] = []
    const deleted = new Set<string>()
    for await (const { id } of other.list('/mcp')) {
      t.notOk(listed.includes(id), 'once each')
      listed.push(id)
      await store.get(id, ttl * 100)
      const victim = `${301 - listed.length}`
      if (listed.length <= 150 && (await store.delete(victim)) && !listed.includes(victim)) deleted.add(victim)
      if (listed.length <= 10) await store.create(record(`new ${listed.length}`), ttl * 100, caps)
    }
    const stayed = range(1, 150).map(String)
    t.same(
      stayed.filter(id => !listed.includes(id)),
      [],
      'whoever was there all the time is listed'
    )
    t.equal(await store.count(), 160)
    t.ok(deleted.size > 0)
  })

  test('a list may be left early', async (t, { store }) => {
    for (const i of range(1, 10)) await store.create(record(`${i}`), ttl, caps)
    for await (const { id } of store.list('/mcp')) {
      t.ok(id)
      break
    }
    t.equal((await ids(store)).length, 10)
  })

  test('names that mean something elsewhere are names like any other', async (t, { store, other }) => {
    const names = ['__proto__', 'constructor', 'a:b', '{a}', '*', '127.0.0.1', '::1', 'ä 🚲']
    for (const name of names) {
      const each = record(name, { group: name, principal: name, route: `/${name}` })
      t.equal(await store.create(each, ttl, { total: 100, perGroup: 1 }), 'created', name)
      t.same(await other.get(name, ttl), each)
      t.same(await ids(other, `/${name}`), [name])
    }
    t.equal(await store.create(record('next', { group: '__proto__' }), ttl, { total: 100, perGroup: 1 }), 'group-full')
    for (const name of names) t.ok(await other.delete(name))
    t.equal(await store.create(record('next', { group: '__proto__' }), ttl, { total: 100, perGroup: 1 }), 'created')
  })
}

async function ids(store: SessionStore, route = '/mcp'): Promise<string[]> {
  const listed: string[] = []
  for await (const { id } of store.list(route)) listed.push(id)
  return listed
}
