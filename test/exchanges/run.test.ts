import t from 'tap'
import { Countdown } from '../../src/exchanges/countdown.ts'
import { begin, type ResponseMode } from '../../src/exchanges/run.ts'
import type { MessageSource } from '../../src/exchanges/source.ts'
import { makeError, makeNotification, makeRequest, makeResult } from '../../src/protocol/make.ts'
import type { Message } from '../../src/protocol/message.ts'
import { failOnRejections } from '../helpers/rejections.ts'

failOnRejections(t)

const response = makeResult('1', {})
const other = makeResult('2', {})
const error = makeError('1', -32601, 'no')
const progress = makeNotification('notifications/progress', {})
const ask = makeRequest('"a"', 'roots/list')

/** `undefined` in the list: waits for good. */
function sourceOf(messages: (Message | undefined)[], place?: string): MessageSource {
  const left = [...messages]
  return {
    next: () => {
      if (left.length === 0) return Promise.resolve(undefined)
      const message = left.shift()
      return message === undefined ? new Promise(() => {}) : Promise.resolve(message)
    },
    place
  }
}

async function rest(source: MessageSource, count: number): Promise<(Message | undefined)[]> {
  const all: (Message | undefined)[] = []
  for (let i = 0; i < count; i++) all.push(await source.next())
  return all
}

const never = new Countdown(60_000)

interface Row {
  readonly modes: readonly ResponseMode[]
  readonly says: readonly (Message | undefined)[]
  readonly whole?: readonly Message[]
  readonly what: string
}

const rows: readonly Row[] = [
  { what: 'a response that comes first is JSON', modes: ['auto', 'json'], says: [response], whole: [response] },
  { what: 'a response that comes first opens a stream', modes: ['sse', 'sse-only'], says: [response] },
  {
    what: 'an error that comes first keeps its JSON body',
    modes: ['auto', 'json', 'sse'],
    says: [error],
    whole: [error]
  },
  { what: 'an error is an event where nothing else is taken', modes: ['sse-only'], says: [error] },
  { what: 'progress opens a stream', modes: ['auto', 'sse', 'sse-only'], says: [progress, response] },
  { what: 'a request of the upstream opens a stream', modes: ['auto', 'sse', 'sse-only'], says: [ask, response] },
  { what: 'JSON has no room for anything else', modes: ['json'], says: [progress, ask, response], whole: [response] },
  {
    what: 'a batch of responses is one array',
    modes: ['auto', 'json'],
    says: [response, other],
    whole: [response, other]
  },
  {
    what: 'progress after the first response of a batch opens a stream',
    modes: ['auto'],
    says: [response, progress, other]
  },
  { what: 'cancelled before anything came: nothing', modes: ['auto', 'json', 'sse', 'sse-only'], says: [], whole: [] }
]

for (const { what, modes, says, whole } of rows) {
  for (const mode of modes) {
    t.test(`${mode}: ${what} (decisions: "Response mode")`, async t => {
      const begun = await begin(sourceOf([...says]), mode, never)
      if (whole !== undefined) t.same(begun, { kind: 'whole', responses: whole })
      else {
        t.equal(begun.kind, 'open')
        if (begun.kind === 'open') t.same(await rest(begun.rest, says.length + 1), [...says, undefined])
      }
    })
  }
}

for (const mode of ['auto', 'sse', 'sse-only'] as const) {
  t.test(`${mode}: nothing for sseAfter opens a stream that loses nothing (decisions: "Response mode")`, async t => {
    const gate = Promise.withResolvers<Message | undefined>()
    const says = [gate.promise, Promise.resolve(undefined)]
    const begun = await begin({ next: () => says.shift()! }, mode, new Countdown(5))
    if (begun.kind !== 'open') return t.fail('no stream')
    gate.resolve(response)
    t.same(await rest(begun.rest, 2), [response, undefined])
  })
}

t.test('json: waits for as long as it takes', async t => {
  const gate = Promise.withResolvers<Message | undefined>()
  const says = [gate.promise, Promise.resolve(undefined)]
  const begun = begin({ next: () => says.shift()! }, 'json', new Countdown(1))
  await new Promise(resolve => setTimeout(resolve, 10))
  gate.resolve(response)
  t.same(await begun, { kind: 'whole', responses: [response] })
})

t.test('the place of the upstream is told once what came before was given', async t => {
  const begun = await begin(sourceOf([progress, progress, response], 'here'), 'auto', never)
  if (begun.kind !== 'open') return t.fail('no stream')
  t.equal(begun.rest.place, undefined)
  await begun.rest.next()
  t.equal(begun.rest.place, 'here')
})

t.test('who wants the connection closed is told through', async t => {
  let close: (() => void) | undefined
  const source = {
    ...sourceOf([progress]),
    onCloseStream(listener: () => void) {
      close = listener
    }
  }
  const begun = await begin(source, 'auto', never)
  if (begun.kind !== 'open') return t.fail('no stream')
  let closed = 0
  begun.rest.onCloseStream?.(() => void closed++)
  close?.()
  t.equal(closed, 1)
})
