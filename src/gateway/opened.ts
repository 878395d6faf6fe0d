import { type Live, sessionHash } from '../sessions/lifecycle.ts'
import { facts } from '../telemetry/events.ts'

/** A session is open. */
export function opened(live: Live): void {
  if (!facts.session.wanted) return
  const { route, client } = live.record
  facts.session.publish({ route, session: sessionHash(live), version: client.version, event: 'opened' })
}
