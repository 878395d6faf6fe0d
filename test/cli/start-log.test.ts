import { fileURLToPath } from 'node:url'
import t from 'tap'
import { endOf, startChild } from '../helpers/child.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

interface Line {
  readonly msg: string
  readonly mcpServers?: Readonly<Record<string, { readonly type: string; readonly url: string }>>
}

t.test(
  'the log of a start names every URL, and gives the block to paste into a client, of addresses that can be asked',
  async t => {
    const config = {
      server: { host: '0.0.0.0', port: 0 },
      admin: { host: '::', port: 0 },
      backends: {
        docs: { kind: 'http', url: 'http://127.0.0.1:1/mcp' },
        old: { kind: 'sse', url: 'http://127.0.0.1:1/sse' }
      },
      routes: { '/a': { backends: ['docs'] }, '/b': { backends: ['docs'] }, '/c': { backends: ['old'] } }
    }
    const folder = t.testdir({ 'x.yaml': JSON.stringify(config) })
    const child = startChild(process.execPath, [main, '-c', `${folder}/x.yaml`])
    t.teardown(() => child.kill('SIGKILL'))
    await child.line(line => (line.includes('health and metrics') ? true : undefined), 20_000)
    child.kill('SIGTERM')
    t.equal(await endOf(child, 10_000), 0)
    const lines = child
      .output()
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line) as Line)
    const [serving = ''] = lines.map(({ msg }) => msg).filter(msg => msg.startsWith('serving docs at '))
    const base = serving.slice('serving docs at '.length, -'/a'.length)
    t.match(base, /^http:\/\/127\.0\.0\.1:[1-9]\d+$/)
    t.same(
      lines.map(({ msg }) => msg.replace(/:\d+$/, ':0')),
      [
        `serving docs at ${base}/a`,
        `serving docs at ${base}/b`,
        `serving old at ${base}/c`,
        'point a client at it',
        'health and metrics at http://[::1]:0',
        'stopped'
      ]
    )
    t.same(lines.find(({ msg }) => msg === 'point a client at it')?.mcpServers, {
      docs: { type: 'http', url: `${base}/a` },
      old: { type: 'http', url: `${base}/c` }
    })
  }
)
