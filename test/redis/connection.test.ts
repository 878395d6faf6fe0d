import t from 'tap'
import { Connection } from '../../src/redis/connection.ts'
import { Unavailable } from '../../src/redis/in-flight.ts'
import { Script } from '../../src/redis/script.ts'
import { facts } from '../../src/telemetry/events.ts'
import { startRedis, withoutRedis } from '../helpers/redis.ts'
import { until } from '../helpers/until.ts'

const skip = withoutRedis

const refusal = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error)

t.test('an operator is told once that Redis cannot be reached, and when it can (R1)', { skip }, async t => {
  const server = await startRedis(t)
  await server.kill()
  const told: string[] = []
  t.teardown(facts.notice.subscribe(({ level, text }) => void told.push(`${level}: ${text}`)))
  const connection = new Connection({ url: server.url, deadlineMs: 250, use: 'test' })
  t.teardown(() => connection.close())
  await until('the first try', () => told.length > 0)
  t.type(await refusal(connection.send(['PING'])), Unavailable)
  await new Promise(resolve => setTimeout(resolve, 300))
  t.same(told, ['warn: Redis cannot be reached (test)'], 'however often it was tried')
  await server.start()
  await until('the connection', () => connection.up)
  t.equal(told.at(-1), 'info: Redis is connected (test)')
  await connection.close()
  t.equal(told.length, 2, 'what is closed on purpose is not told')
  t.notOk(connection.up)
})

t.test('what Redis refuses is what it says; a script that fails changes nothing', { skip }, async t => {
  const server = await startRedis(t)
  const connection = new Connection({ url: server.url, deadlineMs: 250, use: 'test' })
  t.teardown(() => connection.close())
  await until('the connection', () => connection.up)
  await t.rejects(connection.send(['NO-SUCH-COMMAND']), { message: /unknown command/ })
  await t.rejects(new Script("return redis.call('INCR', KEYS[1], 'too', 'many')").run(connection, ['a'], []), {
    message: /[Ww]rong number/
  })
  t.equal(await connection.send(['EXISTS', 'a']), 0)
  t.ok(connection.up)
})

t.test(
  'credentials that are refused, and an address that is none of Redis: refused at once, tried again',
  { skip },
  async t => {
    const server = await startRedis(t, ['--requirepass', 'right'])
    for (const url of [server.url.replace('//', '//:wrong@'), server.url]) {
      const connection = new Connection({ url, deadlineMs: 250, use: 'test' })
      t.teardown(() => connection.close())
      await new Promise(resolve => setTimeout(resolve, 100))
      t.type(await refusal(connection.send(['PING'])), Unavailable)
    }
    const connection = new Connection({ url: server.url.replace('//', '//:right@'), deadlineMs: 250, use: 'test' })
    t.teardown(() => connection.close())
    await until('the connection', () => connection.up)
    t.ok(await connection.send(['PING']))
  }
)
