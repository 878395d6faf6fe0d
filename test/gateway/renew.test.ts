import t from 'tap'
import type { Backend, Link, Server } from '../../src/backends/backend.ts'
import { renew } from '../../src/gateway/renew.ts'

const server = (name: string): Server => ({ version: '2026-07-28', capabilities: { [name]: {} }, result: '{}' })

function linkOf(renewed: (link: { server: Server }) => Promise<void>): Link {
  const link = { server: server('old'), renew: () => renewed(link) }
  return link as unknown as Link
}

const backend = { name: 'docs' } as Backend

function listsOf() {
  const opened: Link[] = []
  return { opened, lists: { opened: (link: Link) => void opened.push(link) } }
}

t.test('what a backend says now is known; who says nothing else is not looked at again', async t => {
  const { opened, lists } = listsOf()
  const changed = linkOf(async link => {
    link.server = server('new')
  })
  const same = linkOf(async () => {})
  const legacy = { server: server('old') } as Link
  await renew(
    [changed, same, legacy, undefined].map(link => ({ link, backend })),
    lists
  )
  t.same(opened, [changed])
})

t.test('who cannot be asked is what it was, and who hangs holds up nobody for long', async t => {
  const { opened, lists } = listsOf()
  const failing = linkOf(() => Promise.reject(new Error('no')))
  await renew([{ link: failing, backend }], lists)
  const began = performance.now()
  await renew([{ link: linkOf(() => new Promise(() => {})), backend }], lists)
  const took = performance.now() - began
  t.ok(took > 1_900 && took < 5_000, `${took} ms`)
  t.same(opened, [])
})
