import t from 'tap'
import { refusedName } from '../../src/gateway/unknown-name.ts'
import { withParam } from '../../src/protocol/edit.ts'
import { makeRequest } from '../../src/protocol/make.ts'
import { readMessage } from '../../src/protocol/message.ts'

const response = (text: string) => readMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,${text}}`), 64)
const call = (name: string, method = 'tools/call') => makeRequest('1', method, { name, arguments: {} })
const error = (code: number, message: string) => response(`"error":${JSON.stringify({ code, message })}`)
const told = (message: string, more = '') =>
  response(`"result":{"isError":true,"content":[{"type":"text","text":${JSON.stringify(message)}}]${more}}`)

t.test('a name that the backend does not know, in every way in which servers say it', async t => {
  for (const message of ['Unknown tool: x_1', 'Tool x_1 not found', 'no such tool "x_1"', 'x_1 does not exist']) {
    for (const said of [error(-32602, message), error(-32601, message), told(message)]) {
      t.equal(refusedName(said, call('x_1'))?.name, 'tools', message)
    }
  }
  t.equal(refusedName(error(-32602, 'Prompt p not found'), call('p', 'prompts/get'))?.name, 'prompts')
  const renamed = withParam(call('a_x'), 'name', '"x"')
  t.equal(refusedName(error(-32602, 'Unknown tool: x'), renamed)?.name, 'tools', 'by the name that it was sent')
})

t.test('anything else is the call’s own affair', async t => {
  const others = [
    error(-32602, 'Invalid arguments for tool x_1: path is required'),
    error(-32602, 'file not found'),
    response('"result":{"content":[{"type":"text","text":"x_1 not found"}]}'),
    told('x_1 not found', `,"structuredContent":"${'y'.repeat(1_000)}"`)
  ]
  for (const said of others) t.equal(refusedName(said, call('x_1')), undefined)
  t.equal(refusedName(error(-32602, 'Unknown tool: x_1'), call('x_1', 'resources/read')), undefined)
})
