import t from 'tap'
import { connectV1 } from './clients/v1.ts'
import { type Expected, everythingFeatures } from './everything.ts'
import { sameListsAsDirect, surviveClosedConnections } from './proxied.ts'
import { direct, overHttp, overStdio } from './ways.ts'

const expected: Expected = {
  version: '2025-11-25',
  elicitation: true,
  resourceLinks: 'links',
  completionContext: true,
  tasks: true
}

t.test('SDK v1 uses server-everything directly: what the other tests expect', async t => {
  await everythingFeatures(t, connectV1, { url: await direct(t) }, { ...expected, tasks: false })
})

t.test('SDK v1 uses server-everything through the gateway, http backend', async t => {
  await everythingFeatures(t, connectV1, { url: await overHttp()(t) }, expected)
})

t.test('SDK v1 uses server-everything through the gateway, stdio backend', async t => {
  await everythingFeatures(t, connectV1, { url: await overStdio()(t) }, expected)
})

t.test('SDK v1 sees the same lists through the gateway as without it', async t => {
  await sameListsAsDirect(t, connectV1)
})

t.test('SDK v1 resumes a call whose connection is closed again and again (R18)', async t => {
  await surviveClosedConnections(t, connectV1)
})
