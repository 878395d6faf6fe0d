import fc from 'fast-check'
import t from 'tap'
import { withId } from '../../src/protocol/edit.ts'
import { readMessage } from '../../src/protocol/message.ts'
import { bytes } from '../../src/protocol/write.ts'
import { edits } from '../fuzz/edits.ts'

for (const [title, property] of Object.entries(edits.properties)) {
  t.test(`R196: ${title}`, async () => fc.assert(property as fc.IRawProperty<unknown>, { numRuns: 1_000 }))
}

t.test('a response without an id gets one', async t => {
  const message = readMessage(Buffer.from('{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}'), 64)
  t.equal(bytes(withId(message, '"a"')).toString(), '{"id":"a","jsonrpc":"2.0","error":{"code":1,"message":"x"}}')
})
