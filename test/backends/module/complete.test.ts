import t from 'tap'
import type { HandlerDefinition } from '../../../src/handlers/define.ts'
import { clientOf } from '../../helpers/module-link.ts'

const many = Array.from({ length: 150 }, (_, i) => `v${i}`)

const definition: Omit<HandlerDefinition, 'name'> = {
  prompts: [
    {
      name: 'p',
      complete: {
        a: typed => many.filter(value => value.startsWith(typed)),
        b: (typed, _context, args) => [`${typed} ${args.a}`],
        c: () => ({ values: ['x'], total: 9, hasMore: true }),
        d: () => ({ values: many }),
        e: () => undefined
      },
      get: () => ''
    }
  ],
  resources: [{ uri: 'x://a', name: 'a', read: () => '' }],
  resourceTemplates: [
    { uriTemplate: 'x://{id}', name: 't', complete: { id: async typed => [`${typed}!`] }, read: () => '' }
  ]
}

const ask = (name: string, value: string, args?: unknown) => ({
  ref: { type: 'ref/prompt', name: 'p' },
  argument: { name, value },
  ...(args === undefined ? {} : { context: { arguments: args } })
})

t.test('R104: at most 100 values are sent, and how many there are', async t => {
  const client = await clientOf(t, definition)
  const { completion } = (await client.ask('completion/complete', ask('a', 'v'))).result
  t.strictSame(completion, { values: many.slice(0, 100), total: 150, hasMore: true })
  t.strictSame((await client.ask('completion/complete', ask('a', 'v14'))).result.completion, {
    values: ['v14', 'v140', 'v141', 'v142', 'v143', 'v144', 'v145', 'v146', 'v147', 'v148', 'v149'],
    total: 11,
    hasMore: false
  })
  t.strictSame((await client.ask('completion/complete', ask('d', ''))).result.completion, {
    values: many.slice(0, 100),
    total: 150,
    hasMore: true
  })
})

t.test('R104: the arguments filled in so far are there, and what the author says of the total passes', async t => {
  const client = await clientOf(t, definition)
  t.same((await client.ask('completion/complete', ask('b', 'x', { a: 'y' }))).result.completion.values, ['x y'])
  t.strictSame((await client.ask('completion/complete', ask('c', ''))).result.completion, {
    values: ['x'],
    total: 9,
    hasMore: true
  })
})

t.test('R104: variables of templates are completed', async t => {
  const client = await clientOf(t, definition)
  const params = { ref: { type: 'ref/resource', uri: 'x://{id}' }, argument: { name: 'id', value: 'a' } }
  t.same((await client.ask('completion/complete', params)).result.completion.values, ['a!'])
})

t.test('R104: what nothing completes has no values', async t => {
  const client = await clientOf(t, definition)
  for (const name of ['e', 'unknown', 'constructor', 'toString']) {
    t.same((await client.ask('completion/complete', ask(name, ''))).result.completion.values, [], name)
  }
  const params = { ref: { type: 'ref/resource', uri: 'x://a' }, argument: { name: 'id', value: '' } }
  t.same((await client.ask('completion/complete', params)).result.completion.values, [])
})

t.test('R104: unknown references and malformed params are -32602', async t => {
  const client = await clientOf(t, definition)
  const argument = { name: 'a', value: '' }
  const bad = [
    undefined,
    {},
    { ref: { type: 'ref/prompt', name: 'q' }, argument },
    { ref: { type: 'ref/resource', uri: 'y://{id}' }, argument },
    { ref: { type: 'ref/tool', name: 'p' }, argument },
    { ref: { type: 'ref/prompt' }, argument },
    { ref: { type: 'ref/prompt', name: 'p' } },
    { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a' } }
  ]
  for (const params of bad) t.match((await client.ask('completion/complete', params)).error, { code: -32602 })
})

t.test('R104: the handler completes what nothing else does; nothing completes anything: -32601', async t => {
  const client = await clientOf(t, {
    prompts: [{ name: 'p', get: () => '' }],
    complete: ({ ref, argument, arguments: args }) => [JSON.stringify([ref, argument, args])]
  })
  t.same((await client.ask('completion/complete', ask('a', 'v', { z: '1' }))).result.completion.values, [
    '[{"type":"ref/prompt","name":"p"},{"name":"a","value":"v"},{"z":"1"}]'
  ])
  const without = await clientOf(t, { prompts: [{ name: 'p', get: () => '' }] })
  t.match((await without.ask('completion/complete', ask('a', ''))).error, { code: -32601 })
})
