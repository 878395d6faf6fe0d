import { fileURLToPath } from 'node:url'
import t from 'tap'
import { endOf, startChild } from '../helpers/child.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

t.test('behind a public URL the log of a start still tells the address and the port that the system chose', async t => {
  const config = {
    server: { port: 0, publicUrl: 'https://mcp.example.com' },
    admin: false,
    backends: { docs: { kind: 'http', url: 'http://127.0.0.1:1/mcp' } }
  }
  const folder = t.testdir({ 'x.yaml': JSON.stringify(config) })
  const child = startChild(process.execPath, [main, '-c', `${folder}/x.yaml`])
  t.teardown(() => child.kill('SIGKILL'))
  const base = await child.line(line => /"listening at (http:\/\/127\.0\.0\.1:[1-9]\d+)"/.exec(line)?.[1], 20_000)
  const { status } = await fetch(`${base}/mcp`, { method: 'HEAD' })
  t.equal(status, 405)
  t.match(child.output(), 'serving docs at https://mcp.example.com/mcp')
  child.kill('SIGTERM')
  t.equal(await endOf(child, 10_000), 0)
})
