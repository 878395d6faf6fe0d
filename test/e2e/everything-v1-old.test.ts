import t from 'tap'
import { connectOldV1 } from './clients/v1-old.ts'
import { type Expected, everythingFeatures } from './everything.ts'
import { direct, overHttp, overStdio } from './ways.ts'

const expected: Expected = {
  elicitation: false,
  resourceLinks: 'text',
  completionContext: false,
  tasks: false
}

t.test('SDK 1.11 uses server-everything directly: what the other tests expect', async t => {
  await everythingFeatures(t, connectOldV1, { url: await direct(t) }, { ...expected, resourceLinks: 'refused' })
})

t.test('SDK 1.11 uses server-everything through the gateway, http backend', async t => {
  await everythingFeatures(t, connectOldV1, { url: await overHttp()(t) }, expected)
})

t.test('SDK 1.11 uses server-everything through the gateway, stdio backend', async t => {
  await everythingFeatures(t, connectOldV1, { url: await overStdio()(t) }, expected)
})
