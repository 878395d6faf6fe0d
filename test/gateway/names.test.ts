import fc from 'fast-check'
import t from 'tap'
import { type Listed, NameTable, type Naming } from '../../src/gateway/names.ts'

const auto: Naming = { mode: 'auto', separator: '_' }
const always: Naming = { mode: 'always', separator: '_' }
const never: Naming = { mode: 'never', separator: '_' }

const lists = (names: Record<string, readonly string[]>): Listed[] =>
  Object.entries(names).map(([backend, names]) => ({ backend, prefix: backend, names }))

/** Every advertised name, by backend and own name. */
const shown = (table: NameTable, lists: readonly Listed[]): string[] =>
  lists.flatMap(({ backend, names }) => names.map(name => `${backend}/${name} ${table.advertised(backend, name)}`))

t.test('auto: own names while unique, backend and name for both of a clash', async t => {
  const listed = lists({ docs: ['search', 'read'], web: ['search', 'fetch'] })
  const table = new NameTable(listed, auto)
  t.same(shown(table, listed), [
    'docs/search docs_search',
    'docs/read read',
    'web/search web_search',
    'web/fetch fetch'
  ])
  t.same(table.clashes, [{ name: 'search', backends: ['docs', 'web'] }])
  t.equal(table.find('search'), undefined, 'a plain name that became ambiguous is unknown')
  t.match(table.find('docs_search'), { backend: 'docs', name: 'search' })
  t.match(table.find('docs_read'), { backend: 'docs', name: 'read' }, 'the prefixed name always works')
  t.equal(table.find('docs_fetch'), undefined)
  t.equal(table.advertised('docs', 'fetch'), undefined)
  t.equal(table.advertised('other', 'fetch'), undefined)
})

t.test('always: the prefixed name alone', async t => {
  const listed: Listed[] = [
    { backend: 'docs', prefix: 'd', names: ['search'] },
    { backend: 'web', prefix: 'web', names: ['search', 'fetch'] }
  ]
  const table = new NameTable(listed, { mode: 'always', separator: '.' })
  t.same(shown(table, listed), ['docs/search d.search', 'web/search web.search', 'web/fetch web.fetch'])
  t.equal(table.find('fetch'), undefined)
  t.same(table.clashes, [])
})

t.test('never: the first backend of the config wins, the other is to be had by its prefixed name', async t => {
  const listed = lists({ b: ['search', 'a_get'], a: ['search', 'get'] })
  const table = new NameTable(listed, never)
  t.same(shown(table, listed), ['b/search search', 'b/a_get a_get', 'a/search undefined', 'a/get get'])
  t.match(table.find('search'), { backend: 'b' })
  t.match(table.find('a_search'), { backend: 'a', name: 'search' })
  t.match(table.find('a_get'), { backend: 'b', name: 'a_get' }, 'what is advertised comes first')
  t.same(table.clashes, [{ name: 'search', backends: ['b', 'a'] }])
})

t.test('names that the separator would split in two ways are told apart (MUX-01)', async t => {
  const listed = lists({ a: ['b__c', 'x'], a__b: ['c', 'x'], 'a-b': ['c'] })
  for (const mode of ['auto', 'always'] as const) {
    const table = new NameTable(listed, { mode, separator: '__' })
    t.equal(table.find('a__b__c'), undefined, 'nobody could say whose it is')
    for (const { backend, names } of listed) {
      for (const name of names) t.match(table.find(table.advertised(backend, name)!), { backend, name })
    }
  }
})

t.test('odd names reach their own tool with their own bytes (MUX-01)', async t => {
  const names = ['a-b', 'a.b', 'a/b', 'a b', 'é', 'e\u0301', '__proto__', '_x', 'constructor', '😀', 'a_b', ' ', 'A_B']
  const listed = lists({ one: names, One: names, 'two-': ['x', 'two-_x'], __proto__x: ['hasOwnProperty'] })
  for (const naming of [auto, always, never]) {
    const table = new NameTable(listed, naming)
    for (const { backend, names } of listed) {
      if (naming === never && backend === 'One') continue
      for (const name of names) {
        const advertised = table.advertised(backend, name)!
        t.match(advertised, /^[A-Za-z0-9_.-]{1,64}$/)
        t.match(table.find(advertised), { backend, name })
      }
    }
    t.equal(table.find('toString'), undefined)
  }
  const table = new NameTable([listed[0]!], auto)
  t.equal(table.advertised('one', 'a_b'), 'a_b', 'what needs no change has none, whatever else is there')
  t.match(table.advertised('one', 'a/b'), /^a_b_[0-9a-f]{10}$/)
})

t.test('the own name of one tool may be the prefixed name of another one of its backend', async t => {
  const one = new NameTable(lists({ git: ['status', 'git_status'] }), auto)
  t.match(one.find('git_status'), { name: 'git_status' })
  const two = new NameTable(lists({ git: ['status', 'git_status'], svn: ['status'] }), auto)
  t.match(two.find('git_status'), { backend: 'git', name: 'git_status' })
  t.match(two.advertised('git', 'status'), /^git_status_[0-9a-f]{10}$/)
})

t.test('a backend that takes the name of another one gets none of its calls (S13)', async t => {
  const before = new NameTable(lists({ good: ['search'], other: ['search'] }), auto)
  const told = new NameTable(lists({ good: ['x y', 'x/y'] }), auto).advertised('good', 'x y')!
  for (const taken of ['search', 'good_search', 'other_search', told]) {
    const listed = lists({ good: ['search', 'x y', 'x/y'], other: ['search'], bad: [taken, `bad_${taken}`] })
    const table = new NameTable(listed, auto)
    const found = table.find(taken)
    t.not(found?.backend, 'bad', taken)
    t.match(table.find(table.advertised('bad', taken)!), { backend: 'bad', name: taken })
    t.match(table.find(table.advertised('good', 'search')!), { backend: 'good', name: 'search' })
  }
  t.match(before.find('good_search'), { backend: 'good' })

  // Even the name that was made to tell two apart, which is known to everybody.
  const pair = { a: ['b__c'], a__b: ['c'] }
  const naming: Naming = { mode: 'auto', separator: '__' }
  const clashing = { ...pair, c: ['b__c', 'c'] }
  const made = new NameTable(lists(clashing), naming).advertised('a', 'b__c')!
  t.match(made, /_[0-9a-f]{10}$/)
  for (const listed of [
    { ...clashing, bad: [made] },
    { bad: [made], ...clashing }
  ]) {
    const table = new NameTable(lists(listed), naming)
    t.equal(table.find(made), undefined)
    t.match(table.find(table.advertised('a', 'b__c')!), { backend: 'a', name: 'b__c' })
    t.match(table.find(table.advertised('bad', made)!), { backend: 'bad', name: made })
    t.ok(table.clashes.some(({ name }) => name === made))
  }
})

t.test('names with control characters, and empty ones, are left out and said; others stay in bounds (S13)', async t => {
  const bad = ['', 'a\r\nb', 'a\u0000', '\u007f', 'a\u0085', 'a\u2028b', '\u001b[31m']
  const odd = ['<img onerror=x>', 'a\u202eb', 'x'.repeat(10_240), '😀'.repeat(5000), '\ud800']
  const table = new NameTable(lists({ a: [...bad, ...odd], b: odd }), auto)
  t.same(
    table.unshowable,
    bad.map(name => ({ backend: 'a', name }))
  )
  for (const name of bad) {
    t.equal(table.advertised('a', name), undefined)
    t.equal(table.find(name), undefined)
  }
  for (const name of odd) t.match(table.advertised('a', name), /^a_[A-Za-z0-9_.-]{1,62}$/)
})

t.test('a long name is cut, with a hash that stays the same', async t => {
  const long = (end: string): string => `${'long'.repeat(20)}${end}`
  const listed = lists({ a: [long('1'), long('2')], ['p'.repeat(64)]: ['q'] })
  const table = new NameTable(listed, always)
  const again = new NameTable([...listed].reverse(), always)
  t.equal(table.advertised('a', long('1'))!.length, 64)
  t.not(table.advertised('a', long('1')), table.advertised('a', long('2')))
  t.equal(table.advertised('a', long('1')), again.advertised('a', long('1')))
  t.match(table.advertised('p'.repeat(64), 'q'), /^p{53}_[0-9a-f]{10}$/)
})

const piece = fc.constantFrom('a', 'b', 'a_b', 'c', '_', '__', '-', '.', '/', ' ', 'é', 'A', 'long'.repeat(17))
const anyName = fc.array(piece, { minLength: 1, maxLength: 3 }).map(parts => parts.join(''))
const backendName = fc.constantFrom('a', 'b', 'A', 'a_b', 'a__b', 'a-b', 'b_a', 'a_', 'p'.repeat(60))
const anyLists = fc
  .uniqueArray(
    fc.record({
      backend: backendName,
      prefix: fc.option(fc.constantFrom('a', 'b', 'a_b'), { nil: undefined }),
      names: fc.array(anyName, { maxLength: 8 })
    }),
    { selector: ({ backend }) => backend, maxLength: 5 }
  )
  .map(lists => lists.map(({ backend, prefix, names }): Listed => ({ backend, prefix: prefix ?? backend, names })))
const anyNaming = fc.record({
  mode: fc.constantFrom('auto' as const, 'always' as const, 'never' as const),
  separator: fc.constantFrom('_', '__', '.', '-')
})

t.test('for all lists: what is advertised leads back to its own name, and is in bounds', async t => {
  fc.assert(
    fc.property(anyLists, anyNaming, (lists, naming) => {
      const table = new NameTable(lists, naming)
      const seen = new Set<string>()
      for (const { backend, names } of lists) {
        for (const name of new Set(names)) {
          const advertised = table.advertised(backend, name)
          if (advertised === undefined) {
            if (naming.mode === 'never') continue
            return false
          }
          const found = table.find(advertised)
          if (found?.backend !== backend || found.name !== name) return false
          if (!/^[A-Za-z0-9_.-]{1,64}$/.test(advertised) || seen.has(advertised)) return false
          seen.add(advertised)
        }
      }
      return true
    }),
    { numRuns: 2000 }
  )
  t.pass()
})

t.test('for all lists: the order in which they come, and that of their items, changes nothing', async t => {
  fc.assert(
    fc.property(anyLists, anyNaming, fc.infiniteStream(fc.nat()), (lists, naming, numbers) => {
      const shuffled = <T>(items: readonly T[]): T[] =>
        items
          .map(item => ({ item, by: numbers.next().value as number }))
          .sort((one, other) => one.by - other.by)
          .map(({ item }) => item)
      const mixed = (naming.mode === 'never' ? [...lists] : shuffled(lists)).map(list => ({
        ...list,
        names: shuffled(list.names)
      }))
      const one = new NameTable(lists, naming)
      const other = new NameTable(mixed, naming)
      return lists.every(({ backend, names }) =>
        names.every(name => one.advertised(backend, name) === other.advertised(backend, name))
      )
    }),
    { numRuns: 1000 }
  )
  t.pass()
})

t.test('auto, for all lists: no name leads to another backend once a backend more is there', async t => {
  fc.assert(
    fc.property(anyLists, fc.constantFrom('_', '__'), (lists, separator) => {
      if (lists.length === 0) return true
      const after = new NameTable(lists, { mode: 'auto', separator })
      const fewer = lists.slice(1)
      const before = new NameTable(fewer, { mode: 'auto', separator })
      return fewer.every(({ backend, names }) =>
        names.every(name => {
          const found = after.find(before.advertised(backend, name)!)
          return found === undefined || found.backend === backend
        })
      )
    }),
    { numRuns: 2000 }
  )
  t.pass()
})

t.test('a table of 10,000 names is made in a few milliseconds', async t => {
  const listed = Array.from({ length: 5 }, (_, index): Listed => {
    const names = Array.from({ length: 2000 }, (_, number) => `tool_${number % 50 === 0 ? 'same' : index}_${number}`)
    return { backend: `backend${index}`, prefix: `backend${index}`, names }
  })
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < 8; round++) {
    const started = performance.now()
    new NameTable(listed, auto)
    best = Math.min(best, performance.now() - started)
  }
  t.comment(`${best.toFixed(1)} ms`)
  t.ok(best < 40)
})
