import assert from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { forBackend, forClient, listedTasks, relatedTaskOf } from '../../src/gateway/task-ids.ts'
import { makeRequest } from '../../src/protocol/make.ts'
import { type Message, readMessage } from '../../src/protocol/message.ts'
import { bytes } from '../../src/protocol/write.ts'
import { anyString, jsonText, writeString } from '../helpers/json.ts'

const message = (text: string): Message => readMessage(Buffer.from(text), 1_000)
const textOf = (edited: Message): string => bytes(edited).toString()
const toClient = (text: string, request?: Message): string => textOf(forClient(message(text), 'a', request))
const toBackend = (text: string, backend = 'a'): string => textOf(forBackend(message(text), backend))

const get = makeRequest('1', 'tasks/get', { taskId: '7' })
const asTask = makeRequest('1', 'tools/call', { name: 'x', task: {} })
const plain = makeRequest('1', 'tools/call', { name: 'x' })

/** [what, what the backend says, what the client gets, the request that it answers] */
const places: readonly [string, string, string, Message?][] = [
  [
    'a CreateTaskResult, its own meta too',
    '{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"7"}},"task":{"taskId":"7","ttl":1.0}}}',
    '{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a~7"}},"task":{"taskId":"a~7","ttl":1.0}}}',
    asTask
  ],
  [
    'a task that was asked for',
    '{"jsonrpc":"2.0","id":1,"result":{ "status":"working", "taskId" : "\\u0037" }}',
    '{"jsonrpc":"2.0","id":1,"result":{ "status":"working", "taskId" : "a~\\u0037" }}',
    get
  ],
  [
    'the result of a task, with the slash as PHP writes it',
    '{"jsonrpc":"2.0","id":1,"result":{"content":[],"big":9007199254740993,"_meta":{"io.modelcontextprotocol\\/related-task":{"taskId":"7"}}}}',
    '{"jsonrpc":"2.0","id":1,"result":{"content":[],"big":9007199254740993,"_meta":{"io.modelcontextprotocol\\/related-task":{"taskId":"a~7"}}}}',
    makeRequest('1', 'tasks/result', { taskId: '7' })
  ],
  [
    'a notice of status',
    '{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"7","status":"completed"}}',
    '{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"a~7","status":"completed"}}'
  ],
  [
    'a request for input',
    '{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"7"}},"message":"?"}}',
    '{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a~7"}},"message":"?"}}'
  ],
  [
    'a log of a task',
    '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","_meta":{"io.modelcontextprotocol/related-task":{"taskId":""}}}}',
    '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a~"}}}}'
  ]
]

for (const [what, own, seen, request] of places) {
  t.test(`R121, R124: the client sees a handle: ${what}`, async t => {
    t.equal(toClient(own, request), seen)
  })
}

const untouched: readonly [string, string, Message?][] = [
  ['a task that the client runs', '{"jsonrpc":"2.0","id":5,"method":"tasks/get","params":{"taskId":"7"}}'],
  ['a tool of which a member is called task', '{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"7"}}}', plain],
  ['a tool of which a member is called taskId', '{"jsonrpc":"2.0","id":1,"result":{"taskId":"7"}}', plain],
  ['an id that is no string', '{"jsonrpc":"2.0","id":1,"result":{"taskId":7}}', get],
  ['an error', '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"related-task"}}', get],
  ['a result that is no object', '{"jsonrpc":"2.0","id":1,"result":["related-task"]}', asTask],
  [
    'the words elsewhere',
    '{"jsonrpc":"2.0","id":1,"result":{"content":{"io.modelcontextprotocol/related-task":{"taskId":"7"}}}}',
    plain
  ],
  [
    'a related task that is none',
    '{"jsonrpc":"2.0","method":"x","params":{"_meta":{"io.modelcontextprotocol/related-task":null}}}'
  ]
]

for (const [what, own, request] of untouched) {
  t.test(`R121: passes as it is: ${what}`, async t => t.equal(toClient(own, request), own))
}

const answer = (id: string): string =>
  `{"jsonrpc":"2.0","id":"q","result":{"action":"accept","_meta":{"io.modelcontextprotocol/related-task":{"taskId":${id}}}}}`
const notice = (id: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/x","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":${id}}}}}`

t.test('R124: the backend gets its own id back in answers, notifications and requests', async t => {
  t.equal(toBackend(answer('"a~7"')), answer('"7"'))
  t.equal(toBackend(answer('"\\u0061\\u007e7"')), answer('"7"'), 'however the client writes it')
  t.equal(toBackend(notice('"a~a~7"')), notice('"a~7"'), 'once')
})

t.test('R124: what is no handle of the backend passes as it is', async t => {
  for (const text of [answer('"7"'), answer('"b~7"'), answer('7'), notice('"b~7"'), notice('null')]) {
    t.equal(toBackend(text), text)
  }
  t.equal(relatedTaskOf(message(notice('"b~7"'))), 'b~7')
  t.equal(relatedTaskOf(message(notice('7'))), undefined)
  t.equal(relatedTaskOf(message('{"jsonrpc":"2.0","method":"notifications/x"}')), undefined)
})

t.test('R124, R196: there and back it is the same id, and nothing else of the message changes', async () => {
  fc.assert(
    fc.property(anyString, jsonText, fc.array(fc.nat(5), { maxLength: 4 }), (id, rest, choices) => {
      const own = answer(`${writeString(id, choices)},"rest":${rest}`)
      const seen = toClient(own, get)
      assert.equal(seen.replace('"taskId":"a~', '"taskId":"'), own)
      const back = toBackend(seen)
      assert.equal(back, answer(`${JSON.stringify(id)},"rest":${rest}`))
    })
  )
})

t.test('R121: the tasks of a list have handles, and keep their bytes', async t => {
  const list = message(
    '{"jsonrpc":"2.0","id":1,"result":{"tasks":[ {"ttl":1.0,"taskId":"7"},{"taskId":8}, null ],"nextCursor":""}}'
  )
  t.same(listedTasks(list, 'a'), { tasks: ['{"ttl":1.0,"taskId":"a~7"}', '{"taskId":8}', 'null'], next: '' })
  t.same(listedTasks(message('{"jsonrpc":"2.0","id":1,"result":{"tasks":[],"nextCursor":null}}'), 'a'), {
    tasks: [],
    next: undefined
  })
  for (const result of ['{}', '{"tasks":{}}', '[]']) {
    t.equal(listedTasks(message(`{"jsonrpc":"2.0","id":1,"result":${result}}`), 'a'), undefined, result)
  }
})
