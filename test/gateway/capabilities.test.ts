import t from 'tap'
import { capabilitiesOf, instructionsOf } from '../../src/gateway/capabilities.ts'

t.test('what any of them can do, together they can', t => {
  t.same(
    capabilitiesOf([
      { tools: { listChanged: false }, resources: {}, tasks: { list: {}, requests: { tools: { call: {} } } } },
      { tools: {}, resources: { subscribe: true }, logging: {}, tasks: { requests: { prompts: {} } } },
      { experimental: { a: { x: 1 } }, extensions: { 'v/e': {} } },
      { experimental: { a: { x: 2, y: 2 }, b: {} }, prompts: null }
    ]),
    {
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      logging: {},
      tasks: { list: {}, requests: { tools: { call: {} }, prompts: {} } },
      experimental: { a: { x: 1, y: 2 }, b: {} },
      extensions: { 'v/e': {} },
      prompts: { listChanged: true }
    }
  )
  t.end()
})

t.test('who was never met may be able to do anything', t => {
  t.same(Object.keys(capabilitiesOf([undefined])).sort(), ['completions', 'logging', 'prompts', 'resources', 'tools'])
  t.end()
})

t.test('instructions stand under the names of their backends', t => {
  const server = (result: object) => ({ version: '2025-11-25', capabilities: {}, result: JSON.stringify(result) })
  t.equal(
    instructionsOf([
      { name: 'a', server: server({ instructions: 'Do.' }) },
      { name: 'b', server: server({ instructions: ' ' }) },
      { name: 'c', server: server({ instructions: 7 }) },
      { name: 'd', server: undefined },
      { name: 'e', server: server({ instructions: 'Wait.' }) }
    ]),
    '# a\n\nDo.\n\n# e\n\nWait.'
  )
  t.equal(instructionsOf([{ name: 'd', server: undefined }]), undefined)
  t.end()
})
