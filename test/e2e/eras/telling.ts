/** What servers tell by themselves, and how a call is given up: rows of the matrix. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { until } from '../../helpers/until.ts'
import { type Area, errorOf, type Feature, hear, heardSince, type Scene, textOf } from './feature.ts'

const calls: Area = {
  name: 'While a call runs',
  features: [
    {
      name: 'progress',
      async run({ peer, world }) {
        const seen: unknown[] = []
        const label = randomUUID()
        const onprogress = ({ progress, total }: { progress: number; total?: number | undefined }): void => {
          seen.push([progress, total])
          world.say(`seen ${label}/${progress}`)
        }
        assert.equal(textOf(await peer.callTool('steps', { count: 3, label }, { onprogress })), 'done')
        assert.deepEqual(seen, [
          [1, 3],
          [2, 3],
          [3, 3]
        ])
      }
    },
    {
      name: 'log messages, from the level that the client wants',
      async run(scene) {
        const { peer } = scene
        const logged = async (level: 'info' | 'error'): Promise<unknown[]> => {
          await peer.setLevel(level)
          const from = peer.heard.all.length
          await peer.callTool('logs')
          return heardSince(scene, from, 'notifications/message').map(({ params }) => params?.data)
        }
        assert.deepEqual(await logged('info'), ['info of it', 'error of it'])
        assert.deepEqual(await logged('error'), ['error of it'])
      }
    },
    {
      name: 'cancelling it stops it at the server',
      async run({ peer, world, patience }) {
        const label = randomUUID()
        const controller = new AbortController()
        const options = { signal: controller.signal, onprogress: () => controller.abort('enough') }
        await errorOf(peer.callTool('wait', { label }, options))
        await until('the cancel', () => world.said.includes(`cancelled ${label}`), patience)
        assert.equal(textOf(await peer.callTool('echo', { message: 'still here' })), 'still here')
      }
    }
  ]
}

/** A list gets an item and loses it again; the client is told both times and sees both. */
const listChange = (kind: 'tools' | 'prompts' | 'resources', list: (scene: Scene) => Promise<string[]>): Feature => ({
  name: kind,
  async run(scene) {
    const { peer } = scene
    for (const on of [true, false]) {
      const from = peer.heard.all.length
      await peer.callTool('change', { kind, on })
      await hear(scene, from, `notifications/${kind}/list_changed`)
      // Programs may be two: the one that told, and the one that lists.
      await until(`the list of ${kind}`, async () => (await list(scene)).includes('late') === on, scene.patience)
    }
  }
})

const names = (items: readonly { name: string }[]): string[] => items.map(({ name }) => name)

const changes: Area = {
  name: 'Changes of lists',
  features: [
    listChange('tools', async ({ peer }) => names((await peer.listTools()).tools)),
    listChange('prompts', async ({ peer }) => names((await peer.listPrompts()).prompts)),
    listChange('resources', async ({ peer }) =>
      (await peer.listResources()).resources.map(({ uri }) => uri.slice('feature://'.length))
    )
  ]
}

const updated = 'notifications/resources/updated'

const subscriptions: Area = {
  name: 'Subscriptions to resources',
  features: [
    {
      name: 'an update while subscribed, none before and after',
      async run(scene) {
        const { peer } = scene
        const [one, other] = ['feature://text', 'feature://bytes']
        const from = peer.heard.all.length
        await peer.subscribe(other)
        await peer.callTool('touch', { uri: one })
        await peer.callTool('touch', { uri: other })
        await hear(scene, from, updated, { uri: other })
        await peer.subscribe(one)
        await peer.callTool('touch', { uri: one })
        await hear(scene, from, updated, { uri: one })
        await peer.unsubscribe(one)
        const then = peer.heard.all.length
        await peer.callTool('touch', { uri: one })
        await peer.callTool('touch', { uri: other })
        await hear(scene, then, updated, { uri: other })
        await peer.unsubscribe(other)
        assert.equal(heardSince(scene, from, updated).filter(({ params }) => params?.uri === one).length, 1)
      }
    }
  ]
}

export const telling: readonly Area[] = [calls, changes, subscriptions]
