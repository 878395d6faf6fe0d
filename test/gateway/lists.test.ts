/** When lists of backends are read, by whom, and what is kept of them. */
import t, { type Test } from 'tap'
import type { Link } from '../../src/backends/backend.ts'
import { Gates } from '../../src/backends/gates.ts'
import { GatewayError } from '../../src/errors.ts'
import { ConfiguredHints } from '../../src/gateway/configured-hints.ts'
import { Known } from '../../src/gateway/known.ts'
import { kinds } from '../../src/gateway/list-items.ts'
import { Lists } from '../../src/gateway/lists.ts'
import type { Live } from '../../src/sessions/lifecycle.ts'
import { Clock } from '../helpers/clock.ts'
import { FakeBackend, FakeLink, liveOf, settled } from '../helpers/fake-backend.ts'

const ttl = 60_000
const patience = 5_000

function scene(_t: Test, capabilities: Record<string, unknown> = { tools: {} }) {
  const backend = new FakeBackend()
  const clock = new Clock()
  const known = new Known()
  const link = new FakeLink({} as never, undefined, capabilities)
  const changes: string[] = []
  const failed: number[] = []
  const opened: Live[] = []
  let open: (live: Live) => Promise<Link> = async () => link
  const lists = new Lists({
    known,
    gates: new Gates(),
    hints: new ConfiguredHints(),
    timeoutMs: () => 1_000,
    now: clock.now
  })
  lists.use({
    links: {
      ready: () => undefined,
      get: live => {
        opened.push(live)
        return open(live)
      },
      users: () => new Set()
    },
    receive: () => {},
    changed: (_backend, kind, said) => void changes.push(`${kind.name}${said ? ' said' : ''}`),
    failed: () => void failed.push(1)
  })
  const answer = async (...names: string[]) => {
    await settled()
    link.exchanges.at(-1)!.answer({ tools: names.map(name => ({ name })) })
    await settled()
  }
  const entry = (principal = 'anonymous') => lists.entry(backend, liveOf({ principal }), kinds.tools)
  return {
    backend,
    clock,
    known,
    link,
    lists,
    changes,
    failed,
    opened,
    answer,
    entry,
    opening: (next: typeof open) => {
      open = next
    },
    read: (live: Live, of = entry()) => lists.reading(of, live, ttl, patience),
    names: (of = entry()) => of.list?.items.map(({ id }) => id)
  }
}

t.test('whoever asks first reads it for all; then it is fresh until its time is over', async t => {
  const { read, answer, names, link, opened, clock, changes } = scene(t)
  const [first, second] = [liveOf(), liveOf()]
  const reading = read(first)
  t.equal(read(second), reading, 'the same reading')
  await answer('x')
  await reading
  t.same(names(), ['x'])
  t.same(opened, [first])
  t.equal(read(second), undefined)
  t.same(changes, ['tools'])
  clock.advance(ttl)
  t.ok(read(second) instanceof Promise)
  await answer('x')
  t.equal(link.exchanges.length, 2)
  t.same(changes, ['tools'], 'nothing changed')
})

t.test('what the backend says meanwhile makes it be read once more', async t => {
  const { read, answer, names, lists, backend, changes } = scene(t)
  void read(liveOf())
  lists.invalidate(backend, 'tools')
  await answer('old')
  t.same(names(), ['old'])
  t.ok(read(liveOf()) instanceof Promise)
  await answer('new')
  t.same(names(), ['new'])
  t.equal(read(liveOf()), undefined)
  t.same(changes, ['tools said', 'tools', 'tools'])
  lists.invalidate(backend, 'prompts')
  t.equal(read(liveOf()), undefined, 'other kinds are another matter')
})

t.test('what was read while nobody heard the backend is read again once somebody does (NTF-05)', async t => {
  const { read, answer, lists, backend, changes } = scene(t)
  const [one, other] = [liveOf(), liveOf()]
  void read(one)
  await answer('x')
  t.equal(read(one), undefined)
  changes.length = 0
  lists.heard(backend, one, true)
  t.same(changes, ['tools'])
  t.ok(read(one) instanceof Promise)
  lists.heard(backend, other, true)
  await answer('x')
  t.equal(read(other), undefined, 'it was heard already')
  lists.heard(backend, one, false)
  lists.heard(backend, one, true)
  t.equal(read(one), undefined, 'one of them always heard')
  lists.heard(backend, one, false)
  lists.heard(backend, other, false)
  t.equal(read(one), undefined, 'it is as good as it was')
  lists.heard(backend, liveOf({ principal: 'another' }), true)
  t.equal(read(one), undefined, 'another principal has other lists')
  lists.heard(backend, other, true)
  t.ok(read(one) instanceof Promise, 'nobody heard for a while')
})

t.test('a session that ends while it reads is no failure: the next one reads', async t => {
  const { read, answer, names, opening, entry, failed, link } = scene(t)
  opening(async () => {
    throw new GatewayError('session', 'over')
  })
  await read(liveOf())
  t.equal(entry().failure, undefined)
  t.same(failed, [])
  t.equal(read(liveOf({}, { closed: true })), undefined, 'one that is over has no part in it')
  opening(async () => link)
  void read(liveOf())
  await answer('x')
  t.same(names(), ['x'])
})

t.test('after a failure it is tried again later and later, at once when the backend is heard of', async t => {
  const { read, opening, entry, clock, lists, backend, link, names, answer, failed } = scene(t)
  opening(async () => {
    throw new GatewayError('backend_unavailable', 'no')
  })
  await read(liveOf())
  t.equal(entry().failure?.code, 'backend_unavailable')
  t.equal(read(liveOf()), undefined)
  clock.advance(1_300)
  await read(liveOf())
  clock.advance(1_300)
  t.equal(read(liveOf()), undefined, 'twice as long')
  clock.advance(1_300)
  await read(liveOf())
  t.equal(failed.length, 3)
  opening(async () => link)
  lists.opened(link, backend)
  t.ok(read(liveOf()) instanceof Promise)
  await answer('x')
  t.same(names(), ['x'])
  t.equal(entry().failure, undefined)
})

t.test('a backend that is there and cannot list is not asked again by every link that opens', async t => {
  const { read, lists, backend, link, entry } = scene(t)
  void read(liveOf())
  await settled()
  link.exchanges[0]!.answer({ nothing: 1 })
  await settled()
  t.equal(entry().failure?.code, 'backend_invalid')
  lists.opened(link, backend)
  t.equal(read(liveOf()), undefined)
})

t.test('the last list is kept when it cannot be read, and when the backend is away', async t => {
  const { read, answer, names, entry, lists, backend, opening, clock, changes } = scene(t)
  void read(liveOf())
  await answer('x')
  lists.down(backend, new GatewayError('backend_unavailable', 'away'))
  t.equal(entry().failure?.message, 'away')
  t.same(names(), ['x'])
  opening(async () => {
    throw new GatewayError('backend_unavailable', 'no')
  })
  clock.advance(ttl)
  await read(liveOf())
  t.same(names(), ['x'])
  t.same(changes, ['tools', 'tools'], 'that it is away is told once')
})

t.test('nobody waits longer than there is time; who failed before is given a tenth', async t => {
  const { read, clock, entry, link } = scene(t)
  t.ok(read(liveOf()) instanceof Promise)
  clock.advance(patience)
  t.equal(read(liveOf()), undefined, 'it is being read all the same')
  await settled()
  link.exchanges[0]!.queue.fail(new GatewayError('backend_broke', 'no'))
  await settled()
  t.equal(entry().failures, 1)
  clock.advance(2_000)
  t.ok(read(liveOf()) instanceof Promise)
  clock.advance(patience / 10)
  t.equal(read(liveOf()), undefined)
})

t.test('a link that lacks the capability lists nothing, unless links opened since have it', async t => {
  const { read, names, link, backend, answer, known, clock, opening } = scene(t)
  void read(liveOf())
  await answer('x')
  const bare = new FakeLink({} as never, undefined, {})
  opening(async () => bare)
  known.seen(backend, link.server)
  clock.advance(ttl)
  await read(liveOf())
  t.same(names(), ['x'])
  t.equal(bare.exchanges.length, 0)
  known.seen(backend, bare.server)
  clock.advance(ttl)
  await read(liveOf())
  t.same(names(), [])
})

t.test('audiences have lists of their own; those that are the same are kept once', async t => {
  const { read, entry, answer } = scene(t)
  for (const audience of ['one', 'two']) {
    void read(liveOf(), entry(audience))
    await answer('x')
  }
  t.equal(entry('one').list, entry('two').list)
  t.not(entry('one'), entry('two'))
})

t.test('calls wait for the first reading of a list alone, not for those after it failed', async t => {
  const { read, entry, lists, opening, clock } = scene(t)
  t.equal(lists.isAwaited(entry(), patience), false)
  opening(() => new Promise(() => {}))
  void read(liveOf())
  t.equal(lists.isAwaited(entry(), patience), true)
  clock.advance(patience)
  t.equal(lists.isAwaited(entry(), patience), false, 'its time is over')
  entry().failures = 1
  entry().startedAt = clock.now()
  t.equal(lists.isAwaited(entry(), patience), false)
})
