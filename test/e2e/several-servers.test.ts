/** Four servers of the protocol's maintainers as one, for the SDKs (MUX-03). */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import type { Answers, Connect } from './clients/peer.ts'
import { connectV1 } from './clients/v1.ts'
import { connectOldV1 } from './clients/v1-old.ts'
import { connectV2Legacy } from './clients/v2.ts'
import { type Expected, everythingFeatures } from './everything.ts'
import { fourServers } from './four-servers.ts'

t.setTimeout(120_000)

const text = (result: unknown) => (result as { content: { text?: string }[] }).content[0]?.text ?? ''

const answers = (...folders: string[]): Answers => ({
  roots: folders.map(folder => ({ uri: pathToFileURL(folder).href, name: folder })),
  sample: '',
  elicitation: { action: 'cancel' }
})

const thought = { thought: 'one at a time', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }

const newest: Expected = {
  version: '2025-11-25',
  elicitation: true,
  resourceLinks: 'links',
  completionContext: true,
  tasks: true
}
const clients: readonly (readonly [name: string, connect: Connect, expected: Expected])[] = [
  ['v1', connectV1, newest],
  ['v2, legacy mode', connectV2Legacy, newest],
  ['1.11', connectOldV1, { elicitation: false, resourceLinks: 'text', completionContext: false, tasks: false }]
]

t.test('everything, filesystem, memory and sequential-thinking on one route', async t => {
  const { url, folder, file } = await fourServers(t)

  for (const [name, connect, expected] of clients) {
    await t.test(`SDK ${name}: every feature of server-everything, beside three others`, async t => {
      await everythingFeatures(t, connect, { url: url() }, expected)
    })

    await t.test(`SDK ${name} uses all four in one session`, async t => {
      const peer = await connect({ url: url() }, answers(folder))
      const tools = (await peer.listTools()).tools.map(tool => tool.name)
      t.equal(new Set(tools).size, tools.length)
      for (const tool of ['echo', 'read_text_file', 'create_entities', 'sequentialthinking']) t.ok(tools.includes(tool))
      const path = join(folder, `${name.slice(0, 2)}.txt`)
      const entities = [{ name: `thing of ${name}`, entityType: 'thing', observations: [path] }]
      const [echo, , , thinking] = await Promise.all([
        peer.callTool('echo', { message: name }),
        peer.callTool('write_file', { path, content: name }),
        peer.callTool('create_entities', { entities }),
        peer.callTool('sequentialthinking', thought)
      ])
      t.equal(text(echo), `Echo: ${name}`)
      t.equal(await readFile(path, 'utf8'), name)
      t.match(await readFile(file, 'utf8'), `thing of ${name}`)
      t.match(JSON.parse(text(thinking)), { thoughtNumber: 1, totalThoughts: 1 })
      t.equal(text(await peer.callTool('memory_open_nodes', { names: [entities[0]!.name] })).includes(path), true)
      await peer.close()
    })
  }

  await t.test('SDK v1 where each name has its backend before it', async t => {
    const peer = await connectV1({ url: url('/prefixed') }, answers(folder))
    const tools = (await peer.listTools()).tools.map(tool => tool.name)
    t.same(
      tools.filter(tool => !/^(everything|files|memory|thinking)_/.test(tool)),
      []
    )
    t.equal(text(await peer.callTool('everything_echo', { message: 'hi' })), 'Echo: hi')
    t.match(JSON.parse(text(await peer.callTool('thinking_sequentialthinking', thought))), { thoughtNumber: 1 })
    t.match((await peer.listPrompts()).prompts, [{ name: /^everything_/ }])
    await peer.close()
  })
})
