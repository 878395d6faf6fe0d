import t, { type Test } from 'tap'
import { Pressure, type Reading } from '../../src/http/pressure.ts'
import { facts, type NoticeFact } from '../../src/telemetry/events.ts'

function setting(t: Test) {
  let reading: Reading = { heap: 0.5, delay: 0 }
  let collections = 0
  const pressure = new Pressure({ read: () => reading, collect: () => void collections++, close: () => {} })
  t.teardown(() => pressure.close())
  const told: NoticeFact[] = []
  t.teardown(facts.notice.subscribe(fact => void told.push(fact)))
  const look = (next: Partial<Reading>, times: number): string => {
    reading = { heap: 0.5, delay: 0, ...next }
    for (let i = 0; i < times; i++) pressure.look()
    return pressure.level
  }
  return { told, look, collections: () => collections }
}

t.test('a full heap sheds new sessions at 85 %, new requests at 95 %, and nothing once there is room (P4)', async t => {
  const { told, look } = setting(t)
  t.equal(look({ heap: 0.849 }, 4), 'none')
  t.equal(look({ heap: 0.85 }, 4), 'high')
  t.equal(look({ heap: 0.949 }, 4), 'high')
  t.equal(look({ heap: 0.95 }, 4), 'full')
  t.equal(look({ heap: 0.9 }, 1), 'high')
  t.equal(look({ heap: 0.3 }, 1), 'none')
  t.match(
    told.map(({ level, text }) => `${level}: ${text}`),
    [
      /^warn: new sessions are refused: 85 % of the heap in use/,
      /^warn: new requests are refused: 95 %/,
      /^warn: new sessions are refused: 90 %/,
      /^info: new work is taken again: 30 %/
    ]
  )
})

t.test('an event loop that is late all the time sheds load too; one long task does not (P4)', async t => {
  const { look } = setting(t)
  t.equal(look({}, 4), 'none')
  t.equal(look({ delay: 60_000 }, 3), 'none')
  t.equal(look({}, 1), 'none')
  t.equal(look({ delay: 500 }, 4), 'high')
  t.equal(look({ delay: 2_000 }, 4), 'full')
  t.equal(look({ delay: 10 }, 1), 'none')
})

t.test('a heap that is full for a moment is no pressure (P4)', async t => {
  const { look } = setting(t)
  t.equal(look({ heap: 0.99 }, 3), 'none')
  t.equal(look({ heap: 0.2 }, 1), 'none')
  t.equal(look({ heap: 0.99 }, 3), 'none')
})

t.test('a heap that stays full is collected every ten seconds: with nothing new V8 would not (P4)', async t => {
  const { look, collections } = setting(t)
  look({}, 100)
  t.equal(collections(), 0)
  look({ heap: 0.9 }, 43)
  t.equal(collections(), 1)
  look({ heap: 0.9 }, 39)
  t.equal(collections(), 1)
  look({ heap: 0.9 }, 1)
  t.equal(collections(), 2)
  look({ delay: 5_000 }, 100)
  t.equal(collections(), 2)
})
