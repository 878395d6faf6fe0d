/** Values of Host and Origin: who may call, and from which page (R19-R21; ORG-01, ORG-03; S9). Refused before anything runs. */
import t from 'tap'
import { bytesOf, corpus, type Entry, titleOf } from '../helpers/corpus.ts'
import { type Edge, initialize, startEdge } from '../helpers/edge.ts'
import { freePorts } from '../helpers/ports.ts'
import { bodyOf, exchange, statuses } from '../helpers/wire.ts'

interface Value extends Entry {
  readonly gateway: keyof typeof servers
  readonly value: string
  readonly status: number
}

const servers = {
  default: {},
  listed: {
    publicUrl: 'https://public.example.com:444/',
    allowedHosts: ['mcp.example.com', 'api.example.com:8443'],
    allowedOrigins: [
      'https://app.example.com',
      'http://localhost:3000',
      'vscode-webview://abc',
      'https://[2001:db8::1]:8443'
    ]
  },
  none: { allowedOrigins: [] }
}

const entries = corpus<Value>('origins')

t.ok(entries.filter(({ kind }) => kind.startsWith('Host')).length >= 40)
t.ok(entries.filter(({ kind }) => kind.startsWith('Origin')).length >= 40)

const body = initialize()

t.test('a value is ours or refused, for requests and preflights alike', async t => {
  const edges = new Map<string, Edge>()
  for (const [name, server] of Object.entries(servers)) {
    const [port] = await freePorts(1)
    edges.set(name, { ...(await startEdge(t, { server: { ...server, port } })), url: `http://127.0.0.1:${port}/mcp` })
  }
  for (const entry of entries) {
    await t.test(titleOf(entry), async t => {
      const { url, server } = edges.get(entry.gateway)!
      const host = entry.kind.startsWith('Host')
      const own = host ? `Host: ${entry.value}\r\n` : `Host: localhost\r\nOrigin: ${entry.value}\r\n`
      const heard = server.heard.length
      const post = await exchange(
        t,
        url,
        bytesOf(
          `POST /mcp HTTP/1.1\r\n${own}Connection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
        )
      )
      t.strictSame(statuses(post), [entry.status])
      t.equal(server.heard.length > heard, entry.status === 200)
      if (entry.status !== 200) t.match(bodyOf(post), { error: { code: -32600 } })
      if (host) return
      const allowed = /^access-control-allow-origin: (.*)\r$/im.exec(post)?.[1]
      t.equal(allowed, entry.status === 200 ? entry.value : undefined)
      const preflight = `OPTIONS /mcp HTTP/1.1\r\n${own}Connection: close\r\nAccess-Control-Request-Method: POST\r\n\r\n`
      t.strictSame(statuses(await exchange(t, url, bytesOf(preflight))), [entry.status === 200 ? 204 : entry.status])
    })
  }
})
