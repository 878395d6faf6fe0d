import t from 'tap'
import type { Generation } from '../../src/generations/generation.ts'
import { greet } from '../../src/generations/greeting.ts'
import { configOf } from '../helpers/gateway.ts'
import { notices } from '../helpers/module-link.ts'

const docs = { kind: 'http', url: 'http://127.0.0.1:1/mcp' }
const wiki = { kind: 'http', url: 'http://127.0.0.1:2/mcp' }

/** Of what greeting looks at. */
function generation(file: object): Generation {
  const config = configOf({ ...file })
  const routes = config.routes.map(({ path, backends }) => [path, { path, backends: backends.map(name => ({ name })) }])
  return { config, routes: new Map(routes as never) } as unknown as Generation
}

t.test('what is served is told, and what may surprise; of a changed config what was not so before', async t => {
  const told = notices(t)
  const first = generation({ backends: { docs }, routes: { '/mcp': { backends: ['docs'], page: 5 } } })
  greet(first, path => `http://x${path}`)
  t.strictSame(told, [
    { level: 'warn', text: 'page of route /mcp says something only where several backends are served' },
    { level: 'info', text: 'serving docs at http://x/mcp' }
  ])
  told.length = 0
  const routes = { '/mcp': { backends: ['docs'], page: 5 }, '/more': { backends: ['docs'] } }
  greet(generation({ backends: { docs, wiki }, routes }), path => `http://x${path}`, first)
  t.strictSame(told, [
    { level: 'warn', text: 'backend wiki is behind no route' },
    { level: 'info', text: 'serving docs at http://x/more' }
  ])
})
