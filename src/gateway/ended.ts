/** What goes with a session when it ends, however it ends (SES-11, SES-15, R41). */
import { type CloseReason, type Live, sessionHash } from '../sessions/lifecycle.ts'
import type { StreamLog } from '../streams/stream-log.ts'
import { facts } from '../telemetry/events.ts'
import type { Context } from './context.ts'
import { giveBack } from './give-back.ts'

/** Calls are cancelled upstream, streams end, subscriptions of shared upstreams and upstream sessions are given back. Never rejects. */
export async function ended(live: Live, reason: CloseReason, context: Context, log: StreamLog): Promise<void> {
  for (const running of context.inFlight.of(live)) running.cancel('the session is over')
  for (const call of context.inFlight.awaited(live)) call.cancel()
  context.asked.forget(live)
  context.channels.close(live)
  // Whoever still writes would find the purged stream a loss.
  const stays = reason === 'left'
  const written = context.posts.close(live).then(() => (stays ? undefined : log.purge(live.record.id)))
  const released = giveBack(live, context, stays)
  for (const result of await Promise.allSettled([released, written])) {
    if (result.status === 'rejected') {
      facts.notice.publish({ level: 'warn', text: 'something of a session was not given back', error: result.reason })
    }
  }
  if (reason === 'refused' || !facts.session.wanted) return
  facts.session.publish({
    route: live.record.route,
    session: sessionHash(live),
    version: live.record.client.version,
    event: 'closed',
    reason,
    durationMs: Date.now() - live.opened
  })
}
