import t from 'tap'
import { hostCheck, isLoopback, parseHost } from '../../src/http/host.ts'

const passes = (check: (host: string | undefined) => void, host: string | undefined): boolean => {
  try {
    check(host)
    return true
  } catch (error) {
    t.match(error, host === undefined ? { code: 'header', status: 400 } : { code: 'host', status: 403 })
    return false
  }
}

t.test('loopback names, addresses, publicUrl and allowedHosts are ours; nothing else is (R20, ORG-03)', async t => {
  const check = hostCheck('https://MCP.example.com/base', ['Gateway.internal', 'other.internal:8443'])
  const rows: readonly (readonly [host: string | undefined, ours: boolean])[] = [
    ['localhost', true],
    ['LOCALHOST:8080', true],
    ['localhost:9999', true],
    ['app.localhost:1', true],
    ['127.0.0.1', true],
    ['127.8.9.1:1', true],
    ['[::1]:3000', true],
    ['[::1]', true],
    ['[2001:DB8::1]:3000', true],
    ['10.1.2.3:80', true],
    ['mcp.example.com', true],
    ['MCP.EXAMPLE.com:444', true],
    ['gateway.internal:8080', true],
    ['OTHER.internal:8443', true],
    ['other.internal', false],
    ['other.internal:1', false],
    ['evil.test', false],
    ['evil.test:8080', false],
    ['localhost.evil.test', false],
    ['evil-localhost', false],
    ['127.0.0.1.evil.test', false],
    ['127.0.0.1.:8080', false],
    ['2130706433', false],
    ['0x7f.1', false],
    ['0177.0.0.1', false],
    ['mcp.example.com.evil.test', false],
    ['evil.test/mcp.example.com', false],
    ['user@localhost', false],
    ['localhost#', false],
    ['localhost,evil.test', false],
    ['[::1', false],
    ['[::1]x', false],
    ['[localhost]', false],
    ['::1', false],
    ['localhost:', false],
    ['localhost:80:80', false],
    ['localhost:http', false],
    [' localhost', false],
    ['', false],
    [undefined, false]
  ]
  for (const [host, ours] of rows) t.equal(passes(check, host), ours, `Host: ${host}`)
})

t.test('verdicts that are remembered are right the second time, however many names came between', async t => {
  const check = hostCheck(undefined, [])
  for (let i = 0; i < 300; i++) t.equal(passes(check, `evil-${i}.test`), false)
  for (let i = 0; i < 2; i++) {
    t.equal(passes(check, 'evil-1.test'), false)
    t.equal(passes(check, 'evil-299.test'), false)
    t.equal(passes(check, 'localhost'), true)
  }
})

t.test('the message names the option that would let the host in', async t => {
  t.throws(() => hostCheck(undefined, [])('evil.test'), { message: /server\.allowedHosts/ })
})

t.test('a host is taken apart by its grammar, not by its first colon', async t => {
  t.same(parseHost('[::1]:3000'), { name: '[::1]', port: '3000' })
  t.same(parseHost('Example.com:80'), { name: 'example.com', port: '80' })
  t.same(parseHost('Example.com'), { name: 'example.com', port: undefined })
  t.equal(parseHost('a b'), undefined)
})

t.test('what this machine alone can reach is loopback', async t => {
  for (const host of ['localhost', 'x.localhost', '127.0.0.1', '127.9.9.9', '::1', '[::1]'])
    t.ok(isLoopback(host), host)
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'example.com', '127.example.com', 'localhost.test']) {
    t.notOk(isLoopback(host), host)
  }
})
