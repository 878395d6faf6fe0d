/** One notification to every session of a route: once per session, on one stream of it, kept while no GET is open (R34). */
import { setImmediate as otherWork } from 'node:timers/promises'
import { line, type Message } from '../protocol/message.ts'
import type { Sessions } from '../sessions/lifecycle.ts'
import { channelStream } from '../streams/event-id.ts'
import type { StreamLog } from '../streams/stream-log.ts'
import { facts } from '../telemetry/events.ts'

/** Sessions served before calls get their turn. */
const turn = 100

/** Resolves to the number of sessions. One that fails harms no other. */
export async function broadcast(
  route: string,
  notification: Message,
  sessions: Sessions,
  log: StreamLog
): Promise<number> {
  // The bytes are shared by all: one copy, however many sessions keep it.
  const data = Buffer.from(line(notification))
  let reached = 0
  for await (const record of sessions.list(route)) {
    if (!record.operating) continue
    try {
      await log.post({ session: record.id, stream: channelStream(record.id) }, data)
      reached++
    } catch (error) {
      facts.drop.publish({ reason: 'log_failed' })
      facts.notice.publish({ level: 'warn', text: 'a session missed a broadcast', error })
    }
    if (reached % turn === 0) await otherWork()
  }
  return reached
}
