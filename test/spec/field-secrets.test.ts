/** Whatever is secret on any side, after everything that can go wrong: in no line, metric, page or error (C6). */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { startProgram } from '../helpers/program.ts'
import { RawClient, send } from '../helpers/raw-client.ts'
import { contractTools, Scripted } from '../helpers/scripted.ts'

/** As the config has it. */
const reference = (what: string): string => `\${${what}}`

let count = 0
const canaries = new Map<string, string>()
const secret = (what: string): string => {
  const text = `canary${String(++count).padStart(2, '0')}x7f3a9c51`
  canaries.set(what, text)
  return text
}

t.test('twenty secrets, and everything that fails: none of them is told to anybody (C6)', async t => {
  const server = contractTools(new Scripted())
  const folder = await mkdtemp(join(tmpdir(), 'causeway-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'token')
  await writeFile(file, secret('a file'))
  const upstream = await HttpUpstream.start(server, {
    intercept: (_request, response, body) => {
      const name = /"name":"(odd-\w+)"/.exec(body)?.[1]
      if (name === undefined) return false
      response.setHeader('set-cookie', secret(`a cookie of the backend, ${name}`))
      response.setHeader('www-authenticate', `Bearer realm="${secret(`a challenge, ${name}`)}"`)
      if (name === 'odd-status') response.writeHead(500).end(secret('the body of a failure'))
      if (name === 'odd-html') response.writeHead(200, { 'content-type': 'text/html' }).end(secret('a page'))
      if (name === 'odd-json')
        response.writeHead(200, { 'content-type': 'application/json' }).end(`{"${secret('half a message')}`)
      if (name === 'odd-redirect') response.writeHead(302, { location: `http://x/${secret('a redirect')}` }).end()
      if (name === 'odd-auth') response.writeHead(401).end()
      return true
    }
  })
  t.teardown(() => upstream.close())
  const env = { A_SECRET: secret('a variable'), PLAIN: secret('a variable for a program') }
  const program = await startProgram(
    t,
    {
      logging: { level: 'trace' },
      backends: {
        docs: {
          kind: 'http',
          url: `http://127.0.0.1:${upstream.port}/mcp?key=${secret('the URL of a backend')}`,
          headers: {
            authorization: `Bearer ${reference('A_SECRET')}`,
            'x-token': reference(`file:${file}`),
            'x-plain': secret('a header of the config')
          }
        },
        gone: { kind: 'http', url: `http://127.0.0.1:1/${secret('the path of a backend')}` },
        child: {
          kind: 'stdio',
          command: process.execPath,
          args: [fileURLToPath(new URL('../fixtures/stdio/server.mjs', import.meta.url))],
          env: { API_TOKEN: reference('PLAIN') }
        }
      }
    },
    { env }
  )
  const told: string[] = []
  const client = await RawClient.open(program.url('/mcp/docs'))
  const own = {
    authorization: `Bearer ${secret("the client's token")}`,
    cookie: `a=${secret("the client's cookie")}`,
    'x-api-key': secret("the client's key"),
    'proxy-authorization': `Basic ${secret('for a proxy')}`
  }
  const path = `/mcp/docs?access_token=${secret('a token in the URL')}`
  const ask = async (name: string, args: object = {}): Promise<void> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })
    const response = await send(program.url(path), { headers: { ...client.headers, ...own }, path, body })
    await response.events.whole()
    told.push(JSON.stringify(response.headers), response.text, JSON.stringify(response.events.all))
  }
  for (const name of ['odd-status', 'odd-html', 'odd-json', 'odd-redirect', 'odd-auth', 'die']) await ask(name)
  await ask('garbage', { password: secret('an argument') })
  server.on('tools/call:fails', turn => turn.refuse(-32000, 'no'))
  await ask('fails', { password: secret('an argument of a failure') })
  await send(program.url(path), { headers: { ...client.headers, ...own }, path, body: `{"${secret('a broken body')}` })
  await send(program.url(path), { path, headers: { ...own, 'content-type': 'text/plain' }, body: secret('no JSON') })
  await send(program.url(path), { path, headers: { ...own, origin: 'https://evil.test' }, body: 'x' })
  for (const name of ['gone', 'child']) {
    const opened = await send(program.url(`/mcp/${name}`), {
      headers: { ...own, 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
    })
    told.push(opened.text)
  }
  for (const page of ['metrics', 'readyz?verbose', 'healthz', 'nothing']) {
    told.push(await (await fetch(`${program.adminUrl}/${page}`)).text())
  }
  program.child.kill('SIGTERM')
  t.equal(await program.child.ended, 0)
  const log = program.child.output()
  t.ok(log.split('\n').length > 20, 'the log is at its most talkative')
  t.ok(canaries.size >= 20, `${canaries.size} secrets`)
  const session = client.session!
  t.notOk(log.includes(session), 'a session id')
  for (const [what, canary] of canaries) {
    t.notOk(log.includes(canary), `${what}: not in the log`)
    t.notOk(
      told.some(text => text.includes(canary)),
      `${what}: not in an answer, a metric, a page`
    )
  }
})
