/** Notifications of a client: acted on here, or passed to the upstreams of its session. None is ever answered (202). */
import { type Message, stringParam, textParam } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { facts } from '../telemetry/events.ts'
import type { Context } from './context.ts'

export async function notified(message: Message, live: Live, context: Context): Promise<void> {
  switch (message.method) {
    case 'notifications/initialized':
      // The links said it upstream themselves when they were opened.
      if (live.record.operating) return
      await context.sessions.update(live, () => ({ operating: true }))
      context.channels.operating(live)
      return
    case 'notifications/cancelled':
      cancelled(message, live, context)
      return
    default:
      pass(message, live, context)
  }
}

/** Matched among the session's calls in flight; unknown, finished and ambiguous ids are ignored (R102, CAN-01). */
function cancelled(message: Message, live: Live, { inFlight }: Context): void {
  const id = textParam(message, 'requestId')
  const running = id === undefined ? undefined : inFlight.find(live, id)
  running?.cancel(stringParam(message, 'reason'))
}

/** A request method without an id is no notification that anybody knows: it is not executed (RPC-05). */
function pass(message: Message, live: Live, { links }: Context): void {
  if (!message.method!.startsWith('notifications/')) {
    facts.drop.publish({ reason: 'request_without_id' })
    return
  }
  for (const { link, backend } of links.of(live)) {
    // A shared upstream was told of no client: what one of them says means nothing to it.
    if (backend.scope === 'shared') continue
    link.send(message).catch((error: unknown) => {
      facts.notice.publish({
        level: 'info',
        text: 'a notification did not reach the backend',
        backend: backend.name,
        error
      })
    })
  }
}
