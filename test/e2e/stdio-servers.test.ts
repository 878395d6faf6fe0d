import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { startGateway } from '../helpers/gateway-process.ts'
import { everythingOverStdio, filesystem, memory } from '../helpers/real-servers.ts'
import type { Answers, Connect, Peer } from './clients/peer.ts'
import { connectV1 } from './clients/v1.ts'
import { connectOldV1 } from './clients/v1-old.ts'
import { connectV2Legacy } from './clients/v2.ts'

const clients: Record<string, Connect> = { v1: connectV1, 'v1.11': connectOldV1, v2: connectV2Legacy }

const withRoots = (...folders: string[]): Answers => ({
  roots: folders.map(folder => ({ uri: pathToFileURL(folder).href, name: folder })),
  sample: '',
  elicitation: { action: 'cancel' }
})

const temporary = async (t: Test) => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'causeway-e2e-')))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const text = (result: unknown) => (result as { content: { text?: string }[] }).content[0]?.text ?? ''

/** The allowed folders as the server tells them, once they are what it should have made of the client's roots. */
const allowed = async (peer: Peer, folder: string): Promise<string> => {
  const deadline = Date.now() + 5000
  for (;;) {
    const told = text(await peer.callTool('list_allowed_directories'))
    if (told.includes(folder) || Date.now() > deadline) return told
    await wait(20)
  }
}

t.test('server-filesystem over stdio', async t => {
  const folder = await temporary(t)
  const folders = [join(folder, 'first'), join(folder, 'second')] as const
  for (const each of folders) await mkdir(each)
  const gateway = await startGateway({ backends: { files: { kind: 'stdio', ...filesystem(...folders) } } })
  t.teardown(gateway.stop)

  for (const [name, connect] of Object.entries(clients)) {
    await t.test(`SDK ${name} lists the tools, writes, reads, and is kept inside the folders`, async t => {
      const peer = await connect({ url: gateway.url() }, withRoots(...folders))
      const tools = (await peer.listTools()).tools.map(tool => tool.name)
      for (const tool of ['read_text_file', 'write_file', 'directory_tree', 'search_files']) t.ok(tools.includes(tool))
      await peer.heard.first(message => message.method === 'roots/list')
      await allowed(peer, folders[1])

      const path = join(folders[0], `${name}.txt`)
      const content = `grüße von ${name}\n`.repeat(2000)
      t.match(text(await peer.callTool('write_file', { path, content })), /Successfully wrote/)
      t.equal(await readFile(path, 'utf8'), content)
      t.equal(text(await peer.callTool('read_text_file', { path })), content)
      t.match(text(await peer.callTool('list_directory', { path: folders[0] })), `${name}.txt`)
      t.match(await peer.callTool('read_text_file', { path: '/etc/passwd' }), { isError: true })
      await peer.close()
    })
  }

  await t.test('two sessions have a child each: each sees the folders of its own roots', async t => {
    const [one, two] = [
      await connectV1({ url: gateway.url() }, withRoots(folders[0])),
      await connectV2Legacy({ url: gateway.url() }, withRoots(folders[1]))
    ]
    const hasOnly = async (peer: Peer, mine: string, other: string) => {
      await peer.heard.first(message => message.method === 'roots/list')
      const deadline = Date.now() + 5000
      let told = await allowed(peer, mine)
      while (told.includes(other) && Date.now() < deadline) told = await allowed(peer, mine)
      t.match(told, mine)
      t.notMatch(told, other)
    }
    await hasOnly(one, folders[0], folders[1])
    await hasOnly(two, folders[1], folders[0])
    await one.close()
    await two.close()
  })
})

t.test('server-memory over stdio', async t => {
  const folder = await temporary(t)
  const file = join(folder, 'memory.jsonl')
  await writeFile(file, '')
  const gateway = await startGateway({ backends: { memory: { kind: 'stdio', ...memory(file) } } })
  t.teardown(gateway.stop)

  for (const [name, connect] of Object.entries(clients)) {
    await t.test(`SDK ${name} makes a graph, searches it and removes it again`, async t => {
      const peer = await connect({ url: gateway.url() }, withRoots())
      const entities = ['gateway', 'bridge'].map(word => ({
        name: `${word} of ${name}`,
        entityType: 'thing',
        observations: [`made by ${name}`]
      }))
      const relation = { from: `gateway of ${name}`, to: `bridge of ${name}`, relationType: 'crosses' }
      t.match(await peer.callTool('create_entities', { entities }), { structuredContent: { entities } })
      await peer.callTool('create_relations', { relations: [relation] })
      t.match(await readFile(file, 'utf8'), `bridge of ${name}`)
      t.match(await peer.callTool('search_nodes', { query: `gateway of ${name}` }), {
        structuredContent: { entities: [entities[0]] }
      })
      t.match(await peer.callTool('read_graph'), { structuredContent: { relations: [relation] } })
      await peer.callTool('delete_entities', { entityNames: entities.map(entity => entity.name) })
      t.notMatch(await readFile(file, 'utf8'), `bridge of ${name}`)
      await peer.close()
    })
  }
})

t.test('a child gets the variables of its backend and not the secrets of the gateway', async t => {
  const backend = { ...everythingOverStdio(), kind: 'stdio', env: { GREETING: 'hello' } }
  const gateway = await startGateway({ backends: { everything: backend } }, { E2E_SECRET: 'do-not-tell' })
  t.teardown(gateway.stop)
  const peer = await connectV1({ url: gateway.url() }, withRoots())
  const env = JSON.parse(text(await peer.callTool('get-env')))
  t.equal(env.GREETING, 'hello')
  t.notOk('E2E_SECRET' in env)
  t.ok('PATH' in env)
  await peer.close()
})
