import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testHandler } from 'causeway/testing'
import orderBook from './order_book.ts'

const dune = { isbn: '9780441172719' }

test('orders once the user has said how', async () => {
  const client = await testHandler(orderBook, {
    answers: { elicit: { action: 'accept', content: { answer: 'store' } } }
  })
  const { content } = await client.callTool('order_book', dune)
  assert.deepEqual(content, [{ type: 'text', text: 'Order 1 of this session: Dune, in the store.' }])
  assert.equal(client.asked[0]?.params.message, 'How do you want Dune?')
  assert.deepEqual(client.progress.at(-1), { progress: 2, total: 2, message: 'Ordered' })
  assert.deepEqual(client.logs, [{ level: 'info', logger: 'order_book', data: { ordered: dune.isbn, left: 2 } }])
  await client.close()
})

test('orders nothing when the user declines', async () => {
  const client = await testHandler(orderBook, { answers: { elicit: 'decline' } })
  const { content } = await client.callTool('order_book', dune)
  assert.deepEqual(content, [{ type: 'text', text: 'Nothing was ordered.' }])
  await client.close()
})

test('says so when the client cannot ask', async () => {
  const client = await testHandler(orderBook)
  const { isError } = await client.callTool('order_book', dune)
  assert.equal(isError, true)
  await client.close()
})
