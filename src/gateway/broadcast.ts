/** One notification to every session of a route: once per session, on one stream of it, kept while no GET is open (R34). */
import { setImmediate as otherWork } from 'node:timers/promises'
import type { Message } from '../protocol/message.ts'
import type { Sessions } from '../sessions/lifecycle.ts'
import type { SessionRecord } from '../sessions/session.ts'
import { channelStream } from '../streams/event-id.ts'
import type { StreamLog } from '../streams/stream-log.ts'
import { facts } from '../telemetry/events.ts'
import type { Channels } from './channel.ts'
import { kept } from './outgoing.ts'

/** Sessions served before calls get their turn. */
const turn = 250

/** Resolves to the number of sessions that get it. One that fails harms no other. */
export async function broadcast(
  route: string,
  notification: Message,
  sessions: Sessions,
  channels: Channels,
  log: StreamLog
): Promise<number> {
  // The bytes are shared by all: one copy, however many sessions keep it.
  const data = kept(notification)
  let reached = 0
  let seen = 0
  for await (const record of sessions.list(route)) {
    if (record.operating && (await post(record))) reached++
    if (++seen % turn === 0) await otherWork()
  }
  return reached

  async function post({ id }: SessionRecord): Promise<boolean> {
    const live = sessions.local(id)
    if (live !== undefined) return channels.post(live, notification, data)
    try {
      await log.post({ session: id, stream: channelStream(id) }, data)
      return true
    } catch (error) {
      facts.drop.publish({ reason: 'log_failed' })
      facts.notice.publish({ level: 'warn', text: 'a session missed a broadcast', error })
      return false
    }
  }
}
