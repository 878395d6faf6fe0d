import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { broadcast } from '../../src/gateway/broadcast.ts'
import { Channels } from '../../src/gateway/channel.ts'
import { makeNotification } from '../../src/protocol/make.ts'
import { Sessions } from '../../src/sessions/lifecycle.ts'
import { MemorySessionStore } from '../../src/sessions/memory.ts'
import { channelStream } from '../../src/streams/event-id.ts'
import { FaultyLog } from '../helpers/faulty-log.ts'
import { recordOf } from '../helpers/live.ts'
import { failOnRejections } from '../helpers/rejections.ts'

failOnRejections(t)

const changed = makeNotification('notifications/tools/list_changed')
const caps = { total: 10_000, perGroup: 10_000 }

async function setting(teardown: (handler: () => unknown) => void) {
  const log = new FaultyLog()
  const store = new MemorySessionStore()
  const sessions = new Sessions({ store, idleMs: 60_000, caps })
  const channels = new Channels({
    log,
    asked: { pending: () => false },
    retryMs: 1,
    listening: () => {},
    changes: () => []
  })
  teardown(async () => {
    sessions.stop()
    await Promise.all([log.close(), store.close()])
  })
  return { log, store, sessions, channels }
}

t.test('sessions that another instance has are written to in the log; the buffer is one for all (R34)', async t => {
  const { log, store, sessions, channels } = await setting(t.teardown)
  const records = [recordOf(), recordOf(), recordOf({ operating: false })]
  for (const record of records) await store.create(record, 60_000, caps)
  t.equal(await broadcast('/mcp', changed, sessions, channels, log), 2)
  const slices = await Promise.all(records.map(({ id }) => log.read({ session: id, stream: channelStream(id) }, 0, 10)))
  t.same(
    slices.map(({ entries }) => entries.length),
    [1, 1, 0]
  )
  t.equal(slices[0]!.entries[0]!.data, slices[1]!.entries[0]!.data)
  log.failing.add('post')
  t.equal(await broadcast('/mcp', changed, sessions, channels, log), 0)
})

t.test('other work gets its turn every 250 sessions, also where none is reached', async t => {
  for (const operating of [true, false]) {
    const { log, store, sessions, channels } = await setting(t.teardown)
    for (let i = 0; i < 2_500; i++) await store.create(recordOf({ operating }), 60_000, caps)
    let turns = 0
    let over = false
    const counting = (async () => {
      while (!over) {
        await turn()
        turns++
      }
    })()
    await broadcast('/mcp', changed, sessions, channels, log)
    over = true
    await counting
    t.ok(turns >= 10, `${turns} turns`)
  }
})
