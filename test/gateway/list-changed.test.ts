import t from 'tap'
import { listChanges } from '../../src/gateway/list-changed.ts'
import { bytes } from '../../src/protocol/write.ts'

const changesOf = (capabilities: Record<string, unknown>): string[] =>
  listChanges({ version: '2025-11-25', capabilities, result: '{}' }).map(message => String(bytes(message)))

t.test('list_changed for what is advertised, without params', async t => {
  t.same(
    changesOf({ tools: { listChanged: true }, prompts: { listChanged: true }, resources: { listChanged: true } }),
    [
      '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
      '{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}',
      '{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}'
    ]
  )
  t.same(changesOf({}), [])
  t.same(changesOf({ tools: {}, prompts: { listChanged: false }, resources: null, logging: { listChanged: true } }), [])
})
