import t, { type Test } from 'tap'
import { type TouchedLists, touchedLists } from '../../src/config/touched-lists.ts'
import { configOf } from '../helpers/gateway.ts'

const http = (more: object = {}): object => ({ kind: 'http', url: 'http://127.0.0.1:1/mcp', ...more })

const all = ['a', 'b']

/** Of a route that has a and b before. */
const touched = (backends: object, route: object = {}): TouchedLists => {
  const before = configOf({ backends: { a: http(), b: http() }, routes: { '/mcp': { backends: all } } })
  return touchedLists('/mcp', before, configOf({ backends, routes: { '/mcp': { backends: all, ...route } } }))
}

const same = (t: Test, found: TouchedLists, expected: { [kind in keyof TouchedLists]?: readonly string[] }): void => {
  const sorted = (kind: keyof TouchedLists): string[] => [...found[kind]].sort()
  const { tools = [], prompts = [], resources = [] } = expected
  t.same([sorted('tools'), sorted('prompts'), sorted('resources')], [tools, prompts, resources])
}

t.test('what shows nothing otherwise touches no list', async t => {
  same(t, touched({ a: http({ timeout: '9s', calls: 5, uriPrefix: 'x://' }), b: http() }), {})
  same(t, touched({ a: http(), b: http() }, { page: 10, listTtl: '1s', onError: 'fail' }), {})
})

t.test('what is chosen of a backend touches the lists that it is chosen of', async t => {
  same(t, touched({ a: http({ tools: { deny: ['x'] } }), b: http() }), { tools: ['a'] })
  same(t, touched({ a: http({ prompts: { deny: ['x'] } }), b: http() }), { prompts: ['a'] })
  same(t, touched({ a: http(), b: http({ resources: { deny: ['x'] } }) }), { resources: ['b'] })
})

t.test('how names are made touches what has names', async t => {
  same(t, touched({ a: http({ prefix: 'other' }), b: http() }), { tools: ['a'], prompts: ['a'] })
  same(t, touched({ a: http(), b: http() }, { prefix: 'always' }), { tools: all, prompts: all })
  same(t, touched({ a: http(), b: http() }, { separator: '.' }), { tools: all, prompts: all })
})

t.test('a backend that comes, leaves or is another one touches all lists; so does another order', async t => {
  const of = (...names: string[]): { [kind in keyof TouchedLists]: string[] } => ({
    tools: names,
    prompts: names,
    resources: names
  })
  same(t, touched({ a: http(), b: http(), c: http() }, { backends: ['a', 'c', 'b'] }), of('c'))
  same(t, touched({ a: http(), b: http() }, { backends: ['b'] }), of('a'))
  same(t, touched({ a: http({ url: 'http://127.0.0.1:2/mcp' }), b: http() }), of('a'))
  same(t, touched({ a: http(), b: http() }, { backends: ['b', 'a'] }), of('a', 'b'))
})

t.test('of a path that was not there before everything is new', async t => {
  const config = configOf({ backends: { a: http() } })
  same(t, touchedLists('/mcp/a', { ...config, routes: [] }, config), { tools: ['a'], prompts: ['a'], resources: ['a'] })
})
