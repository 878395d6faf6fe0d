import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { type MessageSource, merged, single } from '../../src/exchanges/source.ts'
import { makeResult } from '../../src/protocol/make.ts'
import type { Message } from '../../src/protocol/message.ts'
import { failOnRejections } from '../helpers/rejections.ts'

failOnRejections(t)

const message = (id: number): Message => makeResult(`${id}`, {})

/** Says what is pushed; counts how often it was asked. */
class Pushed implements MessageSource {
  asked = 0
  readonly #waiting: (Message | undefined)[] = []
  #reader: ((message: Message | undefined) => void) | undefined

  push(message: Message | undefined): void {
    if (this.#reader === undefined) this.#waiting.push(message)
    else this.#reader(message)
    this.#reader = undefined
  }

  next(): Promise<Message | undefined> {
    this.asked++
    if (this.#waiting.length > 0) return Promise.resolve(this.#waiting.shift())
    return new Promise(resolve => {
      this.#reader = resolve
    })
  }
}

const ids = async (source: MessageSource): Promise<(string | undefined)[]> => {
  const all: (string | undefined)[] = []
  for (let next = await source.next(); next !== undefined; next = await source.next()) all.push(next.id)
  return all
}

t.test('a single message, and one that is still made', async t => {
  t.same(await ids(single(message(1))), ['1'])
  t.same(await ids(single(Promise.resolve(message(2)))), ['2'])
})

t.test('several sources side by side: messages as they come, over when all are (R16)', async t => {
  const [a, b] = [new Pushed(), new Pushed()]
  const source = merged([a, single(message(9)), b])
  t.equal((await source.next())?.id, '9')
  b.push(message(1))
  t.equal((await source.next())?.id, '1')
  const next = source.next()
  a.push(message(2))
  t.equal((await next)?.id, '2')
  b.push(undefined)
  a.push(message(3))
  a.push(undefined)
  t.same(await ids(source), ['3'])
  t.equal(await source.next(), undefined)
})

t.test('a reader that is behind holds every source back: one message of each waits', async t => {
  const [a, b] = [new Pushed(), new Pushed()]
  const source = merged([a, b])
  for (let i = 0; i < 10; i++) for (const pushed of [a, b]) pushed.push(message(i))
  for (let i = 0; i < 10; i++) await turn()
  t.same([a.asked, b.asked], [1, 1])
  await source.next()
  await turn()
  t.equal(a.asked + b.asked, 3)
  for (const pushed of [a, b]) pushed.push(undefined)
  t.equal((await ids(source)).length, 19)
})

t.test('no source at all is over at once', async t => {
  t.equal(await merged([]).next(), undefined)
})
