/** decisions: row "Response mode", with sessions: what becomes an event stream, and what of it JSON alone cannot carry. */
import t from 'tap'
import { saying, startLegacy } from '../helpers/legacy.ts'
import { failOnRejections } from '../helpers/rejections.ts'

failOnRejections(t)

const json = 'application/json'
const sse = 'text/event-stream'

for (const [response, tool, accept, type] of [
  ['auto', 'echo', undefined, json],
  ['auto', 'refuse', undefined, json],
  ['auto', 'progress', undefined, sse],
  ['auto', 'echo', sse, sse],
  ['auto', 'refuse', sse, sse],
  ['auto', 'progress', json, json],
  ['sse', 'echo', undefined, sse],
  ['sse', 'refuse', undefined, json],
  ['sse', 'refuse', sse, sse],
  ['sse', 'echo', json, json],
  ['json', 'progress', undefined, json],
  ['json', 'refuse', undefined, json],
  ['json', 'echo', sse, sse]
] as const) {
  t.test(`${response}, Accept ${accept ?? 'both'}: ${tool} as ${type}`, async t => {
    const { open } = await startLegacy(t, { file: { streams: { response } } })
    const client = await open()
    const { status, headers, json, events } = await client.request(
      'tools/call',
      { name: tool, arguments: {}, _meta: { progressToken: 1 } },
      accept === undefined ? {} : { accept }
    )
    t.same([status, headers['content-type']], [200, type])
    const answer = json ?? (await events.whole()).messages.at(-1)
    t.match(
      answer,
      tool === 'refuse' ? { id: 1, error: { code: -32042 } } : { id: 1, result: { content: [{ type: 'text' }] } }
    )
  })
}

t.test('auto: nothing for sseAfter makes it an event stream that can be resumed at once', async t => {
  const { open, held } = await startLegacy(t, { file: { streams: { sseAfter: '30ms' } } })
  const client = await open()
  const call = client.call('held')
  const turn = await held()
  const { headers, events } = await call
  t.equal(headers['content-type'], sse)
  await events.until(({ lastId }) => lastId)
  turn.answer(saying('done'))
  await events.whole()
  t.equal(events.messages.length, 1)
})

t.test('JSON alone, a request of the backend: on the channel while it is open, else refused', async t => {
  const { open } = await startLegacy(t)
  const client = await open({ capabilities: { elicitation: {} } })
  const params = { name: 'ask', arguments: {} }
  const refused = await client.request('tools/call', params, { accept: json })
  t.match(JSON.parse(refused.json.result.content[0].text), { code: -32601 })
  const { events } = await client.get()
  await events.until(({ all }) => all.length > 0)
  const call = client.request('tools/call', params, { accept: json })
  const ask = await events.message(({ method }) => method === 'elicitation/create')
  await client.post({ id: ask.id, result: { action: 'decline' } })
  t.match(JSON.parse((await call).json.result.content[0].text), { action: 'decline' })
})
