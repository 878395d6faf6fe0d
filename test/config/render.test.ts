import t from 'tap'
import { parse } from '../../src/config/parse.ts'
import { render } from '../../src/config/render.ts'

const values = { env: () => 'hush', file: () => 'hush' }

const checked = (text: string) => {
  const parsed = parse(text, '/etc/causeway', values)
  if (parsed.config === undefined) throw new Error(parsed.problems.map(({ message }) => message).join('\n'))
  return { config: parsed.config, text: render(parsed.config, parsed.source) }
}

t.test('what is printed is a config that comes to the same', async t => {
  const { config, text } = checked(`server: { port: 0, publicUrl: "https://mcp.example.com", trustProxy: [10.0.0.0/8] }
admin: false
streams: { closeAfter: 90s, retry: 1500ms, total: 3KiB }
backends:
  a: { kind: http, url: "http://a/mcp" }
  b: { kind: stdio, command: npx, scope: shared, breaker: { pause: 90s } }
  c: { kind: module, path: c.js, breaker: off, prefix: x, tools: { allow: [a], rename: { a: b } } }
routes: { /mcp: { backends: [b, c], prefix: always } }`)
  t.strictSame(checked(text).config, config)
  t.match(text, /closeAfter: 90s\n/)
  t.match(text, /retry: 1500ms\n/)
  t.match(text, /admin: false\n/)
})

t.test('secrets are hidden: headers, variables, URL parameters, whatever came from outside (C6)', async t => {
  const { text } = checked(`server: { publicUrl: "https://\${HOST}/" }
backends:
  a:
    kind: http
    url: "http://a/mcp?key=hush&open=hush"
    headers: { Authorization: Bearer hush }
  b:
    kind: stdio
    command: &c "\${COMMAND}"
    args: [--token, "\${file:/run/secrets/x}", "plain", *c]
    env: { TOKEN: hush }`)
  t.notMatch(text, 'hush')
  t.match(text, /publicUrl: "\*\*\*"/)
  t.match(text, 'http://a/mcp?key=***&open=***')
  t.match(text, /Authorization: "\*\*\*"/)
  t.match(text, / {6}- --token\n {6}- "\*\*\*"\n {6}- plain\n {6}- "\*\*\*"/)
  t.match(text, /TOKEN: "\*\*\*"/)
})

t.test('what came from outside is hidden in client blocks too (C6)', async t => {
  const { text } = checked(`mcpServers: { a: { command: npx, args: ["\${TOKEN}"] } }`)
  t.notMatch(text, 'hush')
})
