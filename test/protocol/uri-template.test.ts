import fc from 'fast-check'
import t from 'tap'
import { parseTemplate } from '../../src/protocol/uri-template.ts'

const table: [template: string, uri: string, variables: Record<string, string> | undefined][] = [
  ['x://a', 'x://a', {}],
  ['x://a', 'x://A', undefined],
  ['x://{id}', 'x://1', { id: '1' }],
  ['x://{id}', 'x://', undefined],
  ['x://{id}', 'x://1/2', undefined],
  ['x://{id}', 'x://a%2Fb%20%C3%BC', { id: 'a/b ü' }],
  ['x://{id}', 'x://%E0%A4%A', undefined],
  ['x://{id}/data', 'x://7/data', { id: '7' }],
  ['x://{id}/data', 'x://7/date', undefined],
  ['x://{a}-{b}', 'x://1-2-3', { a: '1-2', b: '3' }],
  ['x://{a}/{b}', 'x://1/2', { a: '1', b: '2' }],
  ['x://{a,b}', 'x://1,2', { a: '1', b: '2' }],
  ['file:///{+path}', 'file:///a/b/c.txt', { path: 'a/b/c.txt' }],
  ['file:///{+path}/x', 'file:///a/b/x', { path: 'a/b' }],
  ['x://a{#frag}', 'x://a#b/c', { frag: 'b/c' }],
  ['x://a{#frag}', 'x://a', {}],
  ['x://a{.ext}', 'x://a.txt', { ext: 'txt' }],
  ['x://a{/b,c}', 'x://a/1/2', { b: '1', c: '2' }],
  ['x://a{/b,c}', 'x://a/1', { b: '1' }],
  ['x://a{/b}/end', 'x://a/end', {}],
  ['x://a{;p}', 'x://a;p=1', { p: '1' }],
  ['x://a{?q,lang}', 'x://a?q=1&lang=de', { q: '1', lang: 'de' }],
  ['x://a{?q,lang}', 'x://a?lang=de', { lang: 'de' }],
  ['x://a{?q,lang}', 'x://a?lang=a%26b&q=', { lang: 'a&b', q: '' }],
  ['x://a{?q}', 'x://a', {}],
  ['x://a{?q}', 'x://a?other=1', undefined],
  ['x://a{?q}', 'x://a?q=1#f', undefined],
  ['x://a{?q}{#f}', 'x://a?q=1#f', { q: '1', f: 'f' }],
  ['x://a?fixed=1{&q}', 'x://a?fixed=1&q=2', { q: '2' }],
  ['x://{id}', `x://${'a'.repeat(3_000)}`, undefined]
]

for (const [template, uri, variables] of table) {
  t.test(`${template} reads ${uri.slice(0, 40)} as ${JSON.stringify(variables)}`, async t => {
    t.strictSame(parseTemplate(template).match(uri), variables)
  })
}

t.test('what is no template of levels 1 to 3 is refused', async t => {
  for (const template of [
    'x://{',
    'x://}',
    'x://{a',
    'x://{}',
    'x://{a:3}',
    'x://{a*}',
    'x://{a b}',
    'x://{a}{a}',
    'x://{=a}'
  ]) {
    t.throws(() => parseTemplate(template), TypeError, template)
  }
})

t.test('what a template expands to is read back', async () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1 }),
      fc.webSegment().filter(text => text !== ''),
      (a, b) => {
        const uri = `x://${encodeURIComponent(a)}/${b}`
        const read = parseTemplate('x://{a}/{b}').match(uri)
        return read?.a === a && read.b === decodeURIComponent(b)
      }
    )
  )
})

t.test('S16: a hostile URI against a hostile template takes no time', async t => {
  const template = parseTemplate(`x://${Array.from({ length: 20 }, (_, i) => `{+v${i}}a`).join('')}b`)
  const begun = performance.now()
  t.equal(template.match(`x://${'a'.repeat(2_000)}`), undefined)
  t.ok(performance.now() - begun < 200, `${performance.now() - begun} ms`)
})
