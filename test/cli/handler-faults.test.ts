/** Errors that nobody caught, in a process as operators run it. */
import { join } from 'node:path'
import t from 'tap'
import { startChild } from '../helpers/child.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { until } from '../helpers/until.ts'

const main = new URL('../../src/cli/main.ts', import.meta.url).pathname

const handlers = `
  const tool = (name, handler) => ({ name, handler })
  export const tools = { name: 'faulty', tools: [
    tool('throws_late', () => new Promise(() => setTimeout(() => { throw new Error('in a timer') }, 1))),
    tool('rejects', () => { Promise.reject(new Error('nobody waits')); return 'done' }),
    tool('never', () => new Promise(() => {})),
    tool('fine', () => 'fine')
  ] }
  setTimeout(() => { throw new Error('of the module') }, 1)
`

t.test('handlers that throw late or reject unhandled cost their own call; the gateway goes on', async t => {
  const config = {
    server: { port: 0 },
    admin: false,
    backends: { local: { kind: 'module', path: './handlers.mjs', timeout: '100ms' } }
  }
  const folder = t.testdir({ 'causeway.yaml': JSON.stringify(config), 'handlers.mjs': handlers })
  const child = startChild(process.execPath, [main, '-c', join(folder, 'causeway.yaml')])
  t.teardown(() => child.kill('SIGKILL'))
  const url = await child.line(line => /serving local at (\S+\/mcp)"/.exec(line)?.[1], 15_000)
  const client = await RawClient.open(url)
  const textOf = async (name: string) => (await client.call(name)).json.result
  t.match(await textOf('throws_late'), { isError: true, content: [{ text: 'in a timer' }] })
  t.match(await textOf('rejects'), { content: [{ text: 'done' }] })
  t.match((await client.call('never')).json.error, { data: { reason: 'timeout' } })
  t.match(await textOf('fine'), { content: [{ text: 'fine' }] })
  for (const text of ['in a timer', 'nobody waits', 'of the module']) {
    await until(text, () => child.output().includes(text))
  }
  t.notOk(child.exited())
  child.kill('SIGTERM')
  t.equal(await child.ended, 0)
})
