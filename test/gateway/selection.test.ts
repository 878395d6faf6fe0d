import fc from 'fast-check'
import t from 'tap'
import { matches } from '../../src/gateway/glob.ts'
import { everything, selectNames, selectUris } from '../../src/gateway/selection.ts'

t.test('a glob means what a regular expression of it would', async t => {
  const part = fc.constantFrom('a', 'b', '*', '?', '.', '😀')
  const text = fc.array(fc.constantFrom('a', 'b', '.', '😀', '\n'), { maxLength: 12 }).map(parts => parts.join(''))
  const expression = (pattern: string): RegExp =>
    new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*').replaceAll('?', '.')}$`, 'su')
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 8 }).map(parts => parts.join('')),
      text,
      (pattern, text) => matches(pattern, text) === expression(pattern).test(text)
    ),
    { numRuns: 2000 }
  )
  t.pass()
})

t.test('no pattern takes time without bound (S16)', async t => {
  const started = performance.now()
  t.notOk(matches(`${'*a'.repeat(30)}b`, 'a'.repeat(10_000)))
  t.ok(performance.now() - started < 1000)
})

t.test('nothing configured: everything, as it is', async t => {
  t.equal(selectNames(), everything)
  t.equal(selectNames({ deny: [], rename: {} }), everything)
  t.equal(selectUris({ describe: {} }), everything)
  t.ok(everything.allows('x'))
  t.equal(everything.shown('x'), 'x')
  t.equal(everything.own('x'), 'x')
  t.equal(everything.description('x'), undefined)
})

t.test('allow and deny are globs, deny wins, and what is denied is unknown (R196)', async t => {
  const tools = selectNames({ allow: ['read_*', 'search'], deny: ['*_secret'] })
  t.ok(tools.allows('read_file'))
  t.ok(tools.allows('search'))
  t.notOk(tools.allows('Search'), 'names are case-sensitive')
  t.notOk(tools.allows('write_file'))
  t.notOk(tools.allows('read_secret'))
  t.equal(tools.own('read_file'), 'read_file')
  t.equal(tools.own('read_secret'), undefined)
  t.notOk(selectNames({ deny: ['*'] }).allows('anything'))
  t.ok(selectNames({ deny: ['a'] }).allows('anything'))
})

t.test('a renamed one is known by its new name alone', async t => {
  const tools = selectNames({ rename: { get: 'read', a: 'b', b: 'a', __proto__x: 'constructor' } })
  t.equal(tools.shown('get'), 'read')
  t.equal(tools.own('read'), 'get')
  t.equal(tools.own('get'), undefined)
  t.notOk(tools.allows('read'), 'whose name was given away is left out')
  t.equal(tools.own('b'), 'a', 'two may change places')
  t.equal(tools.own('a'), 'b')
  t.ok(tools.allows('a'))
  t.equal(tools.own('constructor'), '__proto__x')
  t.equal(tools.own('toString'), 'toString')
  t.equal(tools.shown('toString'), 'toString')
})

t.test('patterns apply to own names, not to new ones', async t => {
  const tools = selectNames({ allow: ['get'], rename: { get: 'read', put: 'write' } })
  t.equal(tools.own('read'), 'get')
  t.equal(tools.own('write'), undefined)
})

t.test('a description is the configured one', async t => {
  const tools = selectNames({ describe: { get: 'Reads' } })
  t.equal(tools.description('get'), 'Reads')
  t.equal(tools.description('put'), undefined)
  t.equal(tools.description('toString'), undefined)
})

t.test('for every selection: what is shown of an allowed name leads back to it, and to nothing else', async t => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'ab', 'ac', 'x y')
  const pattern = fc.constantFrom('a', 'b', 'a*', '?', '*', 'x*')
  const renames = fc
    .uniqueArray(fc.tuple(name, name), { selector: ([own]) => own, maxLength: 4 })
    .map(pairs => pairs.filter(([, shown], index) => pairs.findIndex(pair => pair[1] === shown) === index))
  fc.assert(
    fc.property(
      fc.option(fc.array(pattern), { nil: undefined }),
      fc.array(pattern, { maxLength: 2 }),
      renames,
      (allow, deny, pairs) => {
        const selection = selectNames({ allow, deny, rename: Object.fromEntries(pairs) })
        const names = ['a', 'b', 'c', 'd', 'ab', 'ac', 'x y']
        for (const own of names) {
          if (selection.allows(own) && selection.own(selection.shown(own)) !== own) return false
          const back = selection.own(own)
          if (back !== undefined && !(selection.allows(back) && selection.shown(back) === own)) return false
        }
        return true
      }
    )
  )
  t.pass()
})

t.test('resources are chosen by URI, whichever way it is written', async t => {
  const docs = selectUris({ allow: ['file:///docs/*', 'note:?', 'http://example.com', 'file:///{a}/*', 'x:%20*'] })
  for (const uri of ['file:///docs/a', 'file:///docs/a%20b?c#d', 'note:1', 'http://example.com', 'file:///{a}/b'])
    t.ok(docs.allows(uri), uri)
  t.ok(docs.allows('x:%20y'))
  for (const uri of [
    'file:///secret',
    'file:///docs/../secret',
    'file:///docs/%2e%2e/secret',
    'file:///docs/..%2fsecret',
    'file:///docs/..%252fsecret',
    'file:///docs/%zz/..%2f..%2fsecret',
    'note:12'
  ])
    t.notOk(docs.allows(uri), uri)

  const open = selectUris({ deny: ['file:///secret/*'] })
  t.ok(open.allows('file:///docs/a'))
  for (const uri of ['file:///secret/a', 'FILE:///secret/a', 'file:///%73ecret/a', 'file:///x/../secret/%zz'])
    t.notOk(open.allows(uri), uri)
  t.equal(open.own('file:///docs/a'), 'file:///docs/a')
  t.equal(open.own('file:///secret/a'), undefined)
})

t.test('what of the config fits nothing that is listed is told', async t => {
  const choice = {
    allow: ['read_*', 'x*'],
    deny: ['gone', 'read_b'],
    rename: { read_a: 'r', old: 'o' },
    describe: { old: 'O' }
  }
  t.same(selectNames(choice).unmatched(['read_a', 'read_b', 'other']), ['x*', 'gone', 'old'])
  t.same(selectNames(choice).unmatched(['read_a', 'read_b', 'xy', 'gone', 'old']), [])
  t.same(everything.unmatched(['a']), [])
})
