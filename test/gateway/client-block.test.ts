import t from 'tap'
import { clientBlock } from '../../src/gateway/client-block.ts'
import { configOf } from '../helpers/gateway.ts'

const backends = {
  docs: { kind: 'http', url: 'http://127.0.0.1:1/mcp' },
  wiki: { kind: 'http', url: 'http://127.0.0.1:2/mcp' },
  causeway: { kind: 'http', url: 'http://127.0.0.1:3/mcp' }
}

/** Name to path. */
const block = (routes?: object, of: object = backends) =>
  clientBlock(configOf({ backends: of, ...(routes && { routes }) }).routes, path => path)
const http = (url: string) => ({ type: 'http', url })

t.test('without routes a client gets the one server that all backends are, and no tool twice', async t => {
  t.same(block(), { causeway: http('/mcp') })
  t.same(block(undefined, { docs: backends.docs }), { docs: http('/mcp') })
})

t.test('a route of one backend has its name, one of several that of its path', async t => {
  const routes = { '/docs': { backends: ['docs'] }, '/team/all': { backends: ['docs', 'wiki'] } }
  t.same(block(routes), { docs: http('/docs'), 'team-all': http('/team/all') })
})

t.test('routes that add nothing are left out, and no name comes twice', async t => {
  const routes = {
    '/mcp': { backends: ['docs', 'wiki'] },
    '/wiki': { backends: ['wiki'] },
    '/more': { backends: ['causeway'] },
    '/docs': { backends: ['docs'] }
  }
  t.same(block(routes), { causeway: http('/mcp'), 'causeway-2': http('/more') })
})
