/** The company that a backend may have to keep: dead, hanging, flooding, and of the same names. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { Catalog } from '../helpers/catalog.ts'

export interface Neighbours {
  /** Entries under `backends`. */
  readonly config: Readonly<Record<string, object>>
  /** Notifications that were written so far. */
  flooded(): number
  close(): Promise<void>
}

/** The suite wants descriptions. */
const tool = (name: string) => ({ name, description: 'Of a neighbour', inputSchema: { type: 'object' } })

/** Names and addresses that the suite asks for, which are the fixture's. */
const clashing = {
  tools: ['test_simple_text', 'test_error_handling', 'test_sampling', 'test_tool_with_progress'].map(tool),
  prompts: ['test_simple_prompt', 'test_prompt_with_arguments'],
  resources: ['test://static-text', 'test://static-binary', 'test://watched-resource'],
  templates: ['test://template/{id}/data']
}

/** Notifications in a burst, and milliseconds between two. */
const burst = 20
const every = 20

/** A port where nobody listens. */
async function deadUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${port}/mcp`
}

export async function startNeighbours(): Promise<Neighbours> {
  const teardowns: (() => Promise<void>)[] = []
  const owner = { teardown: (handler: () => Promise<void>) => void teardowns.push(handler) }
  const hanging = await Catalog.start(owner, 'hanging')
  hanging.state = 'hanging'
  const flooding = await Catalog.start(owner, 'flooding', {
    tools: [tool('flooding_tool')],
    resources: ['flooding://one'],
    capabilities: { tools: { listChanged: true }, resources: { listChanged: true, subscribe: true }, logging: {} }
  })
  const same = await Catalog.start(owner, 'same', clashing)
  let flooded = 0
  const flood = (): void => {
    for (let i = 0; i < burst; i++) {
      flooded += flooding.channels.size
      flooding.tell('notifications/message', { level: 'debug', logger: 'flood', data: i })
    }
    flooding.tell('notifications/tools/list_changed')
    flooding.tell('notifications/resources/list_changed')
    flooding.tell('notifications/resources/updated', { uri: 'flooding://one' })
    flooding.tell('notifications/progress', { progressToken: 1, progress: 1 })
    flooding.tell('notifications/cancelled', { requestId: 1 })
  }
  const timer = setInterval(flood, every)
  return {
    config: {
      dead: { kind: 'http', url: await deadUrl() },
      hanging: hanging.config,
      flooding: flooding.config,
      same: same.config
    },
    flooded: () => flooded,
    async close() {
      clearInterval(timer)
      await Promise.all(teardowns.map(handler => handler()))
    }
  }
}
