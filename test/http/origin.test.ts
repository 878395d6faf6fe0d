import t from 'tap'
import { originCheck } from '../../src/http/origin.ts'

type Row = readonly [origin: string | undefined, allowed: boolean]

const passes = (check: (origin: string | undefined) => void, origin: string | undefined): boolean => {
  try {
    check(origin)
    return true
  } catch (error) {
    t.match(error, { code: 'origin', status: 403 })
    return false
  }
}

t.test('bound to loopback and nothing configured: pages of this machine, any port (R19, ORG-01, S9)', async t => {
  const check = originCheck(undefined, '127.0.0.1')
  const rows: readonly Row[] = [
    [undefined, true],
    ['http://localhost', true],
    ['http://localhost:3000', true],
    ['https://localhost:3000', true],
    ['HTTP://LOCALHOST:3000', true],
    ['http://[::1]:3000', true],
    ['http://127.0.0.1:3000', true],
    ['http://app.localhost:3000', true],
    ['null', false],
    ['', false],
    ['https://evil.test', false],
    ['http://localhost.evil.test', false],
    ['http://evil-localhost', false],
    ['http://127.0.0.1.evil.test', false],
    ['http://localhost:3000/', false],
    ['http://localhost:3000/path', false],
    ['http://localhost@evil.test', false],
    ['http://evil.test@localhost', false],
    ['http://localhost#evil.test', false],
    ['http://localhost?evil.test', false],
    ['http://localhost\\evil.test', false],
    ['http://localhost:3000, https://evil.test', false],
    ['http://localhost http://evil.test', false],
    ['http://localhost:99999', false],
    ['http://', false],
    ['localhost', false],
    ['localhost:3000', false],
    ['//localhost', false],
    ['file://', false],
    ['file://localhost', false],
    ['chrome-extension://localhost', false],
    ['data:text/html,x', false],
    ['http://localhost.', false],
    ['http://0.0.0.0', false],
    ['http://10.0.0.1', false],
    ['*', false]
  ]
  for (const [origin, allowed] of rows) t.equal(passes(check, origin), allowed, `Origin: ${origin}`)
})

t.test('configured: scheme, host and port exactly, in their one form (R19, ORG-01)', async t => {
  const allowed = ['http://localhost:3000', 'https://App.example.com', 'https://bücher.example', 'http://[::1]:80']
  const check = originCheck([...allowed, 'chrome-extension://AbCdEf'], '127.0.0.1')
  const rows: readonly Row[] = [
    [undefined, true],
    ['http://localhost:3000', true],
    ['HTTP://LOCALHOST:3000', true],
    ['https://app.example.com', true],
    ['https://app.example.com:443', true],
    ['https://xn--bcher-kva.example', true],
    ['http://[::1]', true],
    ['http://[0:0:0:0:0:0:0:1]', true],
    ['chrome-extension://abcdef', true],
    ['chrome-extension://other', false],
    ['http://abcdef', false],
    ['http://localhost', false],
    ['http://localhost:3001', false],
    ['https://localhost:3000', false],
    ['http://127.0.0.1:3000', false],
    ['http://app.example.com', false],
    ['https://app.example.com:444', false],
    ['https://app.example.com.', false],
    ['https://sub.app.example.com', false],
    ['https://app.example.com.evil.test', false],
    ['https://evil.test', false],
    ['null', false]
  ]
  for (const [origin, allowed] of rows) t.equal(passes(check, origin), allowed, `Origin: ${origin}`)
})

t.test('an empty list, or another address than loopback, lets no page in (R21)', async t => {
  for (const check of [originCheck([], '127.0.0.1'), originCheck(undefined, '0.0.0.0'), originCheck(undefined, '::')]) {
    t.equal(passes(check, undefined), true)
    t.equal(passes(check, 'http://localhost:3000'), false)
  }
})
