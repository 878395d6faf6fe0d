import t from 'tap'
import { endpointOf } from '../../../src/backends/sse/endpoint.ts'

const stream = new URL('http://127.0.0.1:9001/mcp1/sse?tenant=a')
const endpoint = (data: string) => endpointOf(Buffer.from(data), stream, 'old').href

t.test('BKD-05 a b, BKD-06 an endpoint is resolved against the URL of the stream', t => {
  t.equal(endpoint('/messages?sid=1'), 'http://127.0.0.1:9001/messages?sid=1')
  t.equal(endpoint('messages?sid=1'), 'http://127.0.0.1:9001/mcp1/messages?sid=1')
  t.equal(endpoint('?sid=1'), 'http://127.0.0.1:9001/mcp1/sse?sid=1')
  t.equal(endpoint(' http://127.0.0.1:9001/x '), 'http://127.0.0.1:9001/x')
  t.end()
})

t.test('BKD-05 c d e g h an endpoint elsewhere, or of an absurd length, is refused', t => {
  for (const data of [
    'http://169.254.169.254/x',
    '//evil.test/m',
    'https://127.0.0.1:9001/m',
    'http://127.0.0.1:9002/m',
    'http://localhost:9001/m',
    'javascript:alert(1)',
    'data:text/plain,x',
    'file:///etc/passwd',
    '//user:secret@127.0.0.1:9001/m',
    'http://[',
    `/${'x'.repeat(50_000)}`
  ]) {
    t.throws(() => endpoint(data), { code: 'backend_invalid', backend: 'old' }, data.slice(0, 40))
  }
  t.end()
})
