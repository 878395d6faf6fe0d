import type { IncomingMessage } from 'node:http'
import t from 'tap'
import { checkAuthority, pathOf } from '../../src/http/target.ts'

const request = (url: string, host?: string): IncomingMessage => ({ url, headers: { host } }) as IncomingMessage

t.test('a path is what stands there, without the query (A14)', async t => {
  const rows: readonly (readonly [url: string, path: string])[] = [
    ['/mcp', '/mcp'],
    ['/mcp?a=/b?c', '/mcp'],
    ['/mcp/', '/mcp/'],
    ['//mcp', '//mcp'],
    ['/%6dcp', '/%6dcp'],
    ['/mcp#x', '/mcp#x'],
    ['/mcp;x', '/mcp;x'],
    ['http://host:1/mcp?x', '/mcp'],
    ['HTTPS://host', ''],
    ['ftp://host/mcp', 'ftp://host/mcp'],
    ['*', '*']
  ]
  for (const [url, path] of rows) t.equal(pathOf(request(url)), path, url)
})

t.test('a target with a host names the one of the Host header (H1, ORG-03)', async t => {
  t.doesNotThrow(() => checkAuthority(request('/mcp', 'a')))
  t.doesNotThrow(() => checkAuthority(request('http://LOCALHOST:1/mcp', 'localhost:1')))
  for (const url of ['http://evil.test/mcp', 'http://localhost/mcp', 'http://localhost:1@evil.test/mcp', 'x']) {
    t.throws(() => checkAuthority(request(url, 'localhost:1')), { code: 'host', headers: { connection: 'close' } }, url)
  }
})
