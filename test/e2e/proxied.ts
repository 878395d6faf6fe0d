import type { Test } from 'tap'
import { startGateway } from '../helpers/gateway-process.ts'
import { startEverythingOverHttp } from '../helpers/real-servers.ts'
import type { Answers, Connect, Peer } from './clients/peer.ts'
import { overHttp, overStdio } from './ways.ts'

const noAnswers = (): Answers => ({ roots: [], sample: '', elicitation: { action: 'cancel' } })

const lists = async (peer: Peer) => ({
  tools: await peer.request('tools/list', {}),
  resources: await peer.request('resources/list', {}),
  templates: await peer.request('resources/templates/list', {}),
  prompts: await peer.request('prompts/list', {})
})

/** The lists of server-everything are the same whether a client asks it directly or through the gateway. */
export const sameListsAsDirect = async (t: Test, connect: Connect) => {
  const server = await startEverythingOverHttp()
  t.teardown(server.stop)
  const gateway = await startGateway({ backends: { everything: { kind: 'http', url: server.url } } })
  t.teardown(gateway.stop)
  const near = await connect({ url: server.url }, noAnswers())
  const far = await connect({ url: gateway.url() }, noAnswers())
  t.strictSame(await lists(far), await lists(near))
  t.equal(far.instructions, near.instructions)
  await near.close()
  await far.close()
}

/** Every 300 ms the gateway lets go of the connection of a call; the client comes back and misses nothing. */
export const surviveClosedConnections = async (t: Test, connect: Connect) => {
  const config = { streams: { sseAfter: '50ms', closeAfter: '300ms', retry: '50ms' } }
  for (const [backend, way] of Object.entries({ http: overHttp(config), stdio: overStdio(config) })) {
    await t.test(`${backend} backend`, async t => {
      const peer = await connect({ url: await way(t) }, noAnswers())
      const seen: number[] = []
      const result = await peer.callTool(
        'trigger-long-running-operation',
        { duration: 2, steps: 20 },
        { onprogress: ({ progress }) => seen.push(progress) }
      )
      t.match(result, { content: [{ text: /completed/ }] })
      t.strictSame(
        seen,
        Array.from({ length: 20 }, (_, index) => index + 1)
      )
      await peer.close()
    })
  }
}
