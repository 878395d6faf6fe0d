import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testHandler } from 'causeway/testing'
import greet from '../handlers/greet.ts'

test('greets by name', async () => {
  const client = await testHandler(greet)
  const { content } = await client.callTool('greet', { name: 'Ada' })
  assert.deepEqual(content, [{ type: 'text', text: 'Hello, Ada!' }])
  await client.close()
})
