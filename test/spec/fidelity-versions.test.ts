/** Peers of different revisions through the whole gateway: what an older one cannot take becomes what it can (R3, R90, R91, R112). */
import t from 'tap'
import { value } from '../../src/protocol/write.ts'
import { behind } from '../helpers/behind.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { Scripted } from '../helpers/scripted.ts'

const audio = '{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}'
const link = '{"type":"resource_link","uri":"file:///a","name":"a"}'
const degraded = '{"type":"resource","resource":{"uri":"gateway:audio/0","mimeType":"audio/wav","blob":"UklGRg=="}}'
const linkText = '{"type":"text","text":"a: file:///a"}'

t.test('content types that the revision of the client does not have', async t => {
  const server = new Scripted()
  server.on('tools/call', turn => turn.answer(`{"content":[${audio},${link}],"structuredContent":{"n":1.0}}`))
  server.on('prompts/get', turn => turn.answer(`{"messages":[{"role":"user","content":${audio}}]}`))
  const { url } = await behind(t, 'http', { server })
  const structured = '{"type":"text","text":"{\\"n\\":1.0}"}'
  for (const [version, content, message] of [
    ['2024-11-05', `${structured},${degraded},${linkText}`, degraded],
    ['2025-03-26', `${structured},${audio},${linkText}`, audio],
    ['2025-06-18', `${audio},${link}`, audio],
    ['2025-11-25', `${audio},${link}`, audio]
  ] as const) {
    const client = await RawClient.open(url, { version })
    t.equal(
      (await client.call('x')).text,
      `{"jsonrpc":"2.0","id":1,"result":{"content":[${content}],"structuredContent":{"n":1.0}}}`,
      version
    )
    const sse = await client.request('prompts/get', { name: 'x' }, { accept: 'text/event-stream' })
    const { data } = await sse.events.until(({ all }) => all.find(one => one.message?.id === 2))
    t.equal(data, `{"jsonrpc":"2.0","id":2,"result":{"messages":[{"role":"user","content":${message}}]}}`, version)
  }
})

t.test('sampling with several blocks, in both directions', async t => {
  const one = { type: 'text', text: 'one' }
  for (const [clientVersion, serverVersion, asked, answered, seen, got] of [
    ['2025-06-18', '2025-11-25', [one], one, one, one],
    ['2025-06-18', '2025-11-25', [one, one], one, undefined, -32602],
    ['2025-11-25', '2025-11-25', [one, one], [one, one], [one, one], [one, one]],
    ['2025-11-25', '2025-06-18', one, [one], one, one],
    ['2025-11-25', '2025-06-18', one, [one, one], one, -32602]
  ] as const) {
    const server = new Scripted()
    server.initializeResult = server.initializeResult.replace('2025-11-25', serverVersion)
    server.on('tools/call', async turn => {
      const { result, error } = await turn.ask('sampling/createMessage', {
        messages: [{ role: 'user', content: asked }],
        maxTokens: 1
      })
      turn.answer(JSON.stringify({ content: [], got: error?.code ?? (result as { content: unknown }).content }))
    })
    const { url } = await behind(t, 'http', { server })
    const client = await RawClient.open(url, { version: clientVersion, capabilities: { sampling: {} } })
    const call = await client.call('x')
    if (seen !== undefined) {
      const { id, params } = await call.events.message(({ method }) => method === 'sampling/createMessage')
      t.same(params.messages, [{ role: 'user', content: seen }])
      await client.post({ id, result: { role: 'assistant', model: 'm', content: answered } })
    }
    const response = call.json ?? (await call.events.message(({ result }) => result !== undefined))
    t.same(response.result.got, got, JSON.stringify([clientVersion, serverVersion, asked, answered]))
    t.equal(
      (value(server.heardOf('initialize')[0]!) as any).params.protocolVersion,
      '2025-11-25',
      'the newest is offered'
    )
  }
})
