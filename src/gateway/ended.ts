/** What goes with a session when it ends, however it ends (SES-11, SES-15, R41). */
import { makeRequest } from '../protocol/make.ts'
import { type CloseReason, type Live, sessionHash } from '../sessions/lifecycle.ts'
import type { StreamLog } from '../streams/stream-log.ts'
import { facts } from '../telemetry/events.ts'
import type { Context } from './context.ts'
import { others } from './methods/subscriptions.ts'

/** Calls are cancelled upstream, streams end, subscriptions of shared upstreams and upstream sessions are given back. Never rejects. */
export async function ended(live: Live, reason: CloseReason, context: Context, log: StreamLog): Promise<void> {
  for (const running of context.inFlight.of(live)) running.cancel('the session is over')
  context.asked.forget(live)
  context.channels.close(live)
  unsubscribe(live, context)
  const results = await Promise.allSettled([context.links.release(live), log.purge(live.record.id)])
  for (const result of results) {
    if (result.status === 'rejected') {
      facts.notice.publish({ level: 'warn', text: 'something of a session was not given back', error: result.reason })
    }
  }
  if (reason === 'refused' || !facts.session.wanted) return
  facts.session.publish({
    route: live.record.route,
    session: sessionHash(live.record.id),
    version: live.record.client.version,
    event: 'closed',
    reason,
    durationMs: Date.now() - live.opened
  })
}

/** A shared upstream outlives the session: it is told when the last subscriber of a URI is gone. */
function unsubscribe(live: Live, context: Context): void {
  for (const { link, backend } of context.links.of(live)) {
    if (backend.scope !== 'shared') continue
    for (const uri of live.record.subscriptions) {
      if (others(uri, live, backend, context)) continue
      const exchange = link.exchange(makeRequest('0', 'resources/unsubscribe', { uri }), {
        principal: { key: 'gateway' }
      })
      exchange.next().then(
        () => exchange.detach(),
        () => {}
      )
    }
  }
}
