import t from 'tap'
import { GatewayError } from '../../src/errors.ts'
import { acting, later, responseOf } from '../../src/exchanges/acting.ts'
import { type MessageSource, single } from '../../src/exchanges/source.ts'
import { value } from '../../src/protocol/write.ts'
import { messageOf } from '../helpers/fake-backend.ts'

const result = messageOf({ id: 1, result: {} })
const error = messageOf({ id: 1, error: { code: 1, message: 'no' } })
const notice = messageOf({ method: 'notifications/x' })

function of(...messages: ReturnType<typeof messageOf>[]): MessageSource {
  return { next: async () => messages.shift() }
}

t.test('later gives what comes of it, or one error', async t => {
  const source = later('1', async () => of(notice, result))
  t.same([await source.next(), await source.next(), await source.next()], [notice, result, undefined])
  const failed = later('"a"', () => Promise.reject(new GatewayError('params', 'no')))
  t.match(value((await failed.next())!), { id: 'a', error: { code: -32602 } })
  t.equal(await failed.next(), undefined)
  const fault = later('1', () => Promise.reject(new TypeError('x')))
  t.match(value((await fault.next())!), { id: 1, error: { code: -32603, message: 'internal error' } })
})

t.test('what is made later can be cancelled until it is: nothing comes of it, and it never begins (R102)', async t => {
  const { promise, resolve } = Promise.withResolvers<MessageSource>()
  const source = later('1', () => promise)
  const waiting = source.next()
  source.cancel()
  t.equal(await waiting, undefined)
  const done: string[] = []
  resolve({
    next: async () => void done.push('next'),
    cancel: () => void done.push('cancel')
  })
  await source.made
  t.same(done, ['cancel', 'next'])
  t.equal(await source.next(), undefined)
})

t.test('acting acts before a result is told, and not for an error', async t => {
  let acted = 0
  const act = async (): Promise<void> => void acted++
  const good = acting(of(notice, result), act)
  t.equal(await good.next(), notice)
  t.equal(acted, 0)
  t.equal(await good.next(), result)
  t.equal(acted, 1)
  t.equal(await good.next(), undefined)
  t.equal(await acting(single(error), act).next(), error)
  t.equal(acted, 1)
  const failing = acting(single(result), () => Promise.reject(new GatewayError('params', 'no')))
  t.match(value((await failing.next())!), { id: 1, error: { code: -32602 } })
})

t.test('responseOf leaves out what comes before', async t => {
  t.equal(await responseOf(of(notice, result)), result)
  t.equal(await responseOf(of(notice)), undefined)
})
