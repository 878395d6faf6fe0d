/** Four servers of the protocol's maintainers as one, for the command line of the MCP Inspector (MUX-03). */
import t from 'tap'
import { inspect } from '../helpers/inspector.ts'
import { fourServers } from './four-servers.ts'

t.setTimeout(120_000)

const text = (result: unknown) => (result as { content: { text?: string }[] }).content[0]?.text ?? ''

const thought = { thought: 'one at a time', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }

t.test('the command line of the Inspector with four servers on one route', async t => {
  const { url, folder } = await fourServers(t)
  const ask = async (method: string, ...args: string[]): Promise<any> => {
    const { code, result, output } = await inspect(url(), method, ...args)
    t.equal(code, 0, `${method} ${args}`)
    if (code !== 0) t.comment(output)
    return result
  }

  await t.test('lists', async t => {
    const [{ tools }, { prompts }, { resources }, { resourceTemplates }] = await Promise.all([
      ask('tools/list'),
      ask('prompts/list'),
      ask('resources/list'),
      ask('resources/templates/list')
    ])
    const found = tools.map(({ name }: { name: string }) => name)
    for (const tool of ['echo', 'read_text_file', 'create_entities', 'sequentialthinking']) t.ok(found.includes(tool))
    t.match(prompts, [{ name: String }])
    t.ok(resources.some(({ uri }: { uri: string }) => uri === 'demo://resource/static/document/architecture.md'))
    t.match(resourceTemplates, [{ uriTemplate: /^demo:/ }])
  })

  await t.test('calls of tools of each server, a prompt, a resource, the level', async t => {
    const call = (name: string, args: object) =>
      ask('tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args))
    const [echo, listed, graph, thinking] = await Promise.all([
      call('echo', { message: 'hi' }),
      call('list_directory', { path: folder }),
      call('read_graph', {}),
      call('sequentialthinking', thought)
    ])
    t.equal(text(echo), 'Echo: hi')
    t.match(text(listed), 'memory.jsonl')
    t.match(graph, { structuredContent: { entities: [], relations: [] } })
    t.match(JSON.parse(text(thinking)), { thoughtNumber: 1 })
    const [prompt, resource] = await Promise.all([
      ask('prompts/get', '--prompt-name', 'simple-prompt'),
      ask('resources/read', '--uri', 'demo://resource/static/document/architecture.md'),
      ask('logging/setLevel', '--log-level', 'error')
    ])
    t.match(prompt, { messages: [{ role: 'user' }] })
    t.match(resource, { contents: [{ mimeType: 'text/markdown' }] })
  })

  await t.test('a tool that nobody has is said to be unknown', async t => {
    const { code, output } = await inspect(url(), 'tools/call', '--tool-name', 'no-such-tool')
    t.not(code, 0)
    t.match(output, /not found/)
  })
})
