import t from 'tap'
import { toLegacy, toModern } from '../../src/bridge/older-capabilities.ts'

const modern = (declared: object, version: string): unknown => JSON.parse(toModern(JSON.stringify(declared), version))

const all = {
  roots: { listChanged: true },
  sampling: { tools: {}, context: {}, x: 1 },
  elicitation: { form: {}, url: {} },
  tasks: { list: {} },
  experimental: { e: { n: 1 } },
  extensions: { 'io.modelcontextprotocol/tasks': {}, 'com.example/x': { y: 1 } },
  'x-y': true
}

t.test('a client of 2025-11-25 declares what it has, but tasks and changes of roots', async t => {
  t.same(modern(all, '2025-11-25'), {
    roots: {},
    sampling: { tools: {}, context: {}, x: 1 },
    elicitation: { form: {}, url: {} },
    experimental: { e: { n: 1 } },
    extensions: { 'com.example/x': { y: 1 } },
    'x-y': true
  })
})

t.test('before 2025-11-25 there are no tools and no context in sampling, and no elicitation by URL', async t => {
  t.same(modern({ sampling: { tools: {}, context: {} }, elicitation: { form: {}, url: {} } }, '2025-06-18'), {
    sampling: {},
    elicitation: { form: {} }
  })
  t.same(modern({ elicitation: {} }, '2025-06-18'), { elicitation: {} })
})

t.test('before 2025-06-18 there is no elicitation', async t => {
  for (const version of ['2024-11-05', '2025-03-26'])
    t.same(modern(all, version), {
      roots: {},
      sampling: { x: 1 },
      experimental: { e: { n: 1 } },
      extensions: { 'com.example/x': { y: 1 } },
      'x-y': true
    })
})

t.test('what is no object is not declared', async t => {
  t.same(modern({ roots: true, sampling: null, elicitation: [], extensions: 1 }, '2025-11-25'), {})
})

t.test('a modern server can do for older clients what it can do, but tasks', async t => {
  const server = { tools: { x: 1 }, logging: {}, extensions: { 'io.modelcontextprotocol/tasks': {} }, tasks: {} }
  t.same(toLegacy(server), { tools: { x: 1 }, logging: {} })
  t.same(toLegacy({ extensions: { 'com.example/x': {} } }), { extensions: { 'com.example/x': {} } })
})
