/** Notifications of a client: acted on here, or passed to the upstreams of its session. None is ever answered (202). */
import type { Backend, Link } from '../backends/backend.ts'
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
    case 'notifications/progress':
      if (context.several(live)) context.asked.progressed(message, live)
      else pass(message, live, context)
      return
    default:
      pass(message, live, context)
  }
}

/** Matched among the session's calls in flight; unknown, finished and ambiguous ids are ignored (R102, CAN-01). */
function cancelled(message: Message, live: Live, { inFlight, peers }: Context): void {
  const id = textParam(message, 'requestId')
  const running = id === undefined ? undefined : inFlight.find(live, id)
  const reason = stringParam(message, 'reason')
  if (running !== undefined) running.cancel(reason)
  else if (id !== undefined) peers?.cancelled(live, id, reason)
}

/** A request method without an id is no notification that anybody knows: it is not executed (RPC-05). */
function pass(message: Message, live: Live, context: Context): void {
  if (!message.method!.startsWith('notifications/')) {
    facts.drop.publish({ reason: 'request_without_id' })
    return
  }
  const { tasks } = context
  for (const { link, backend } of concerned(message, live, context)) {
    // A shared upstream was told of no client: what one of them says means nothing to it.
    if (backend.scope === 'shared') continue
    link.send(tasks.toBackend(message, live, backend)).catch((error: unknown) => {
      facts.notice.publish({
        level: 'info',
        text: 'a notification did not reach the backend',
        backend: backend.name,
        error
      })
    })
  }
}

/** What is about a task of one of several backends is for that one. */
function concerned(
  message: Message,
  live: Live,
  { links, tasks }: Context
): readonly { link: Link; backend: Backend }[] {
  const all = [...links.of(live)]
  const name = tasks.concerned(message, live)
  const own = name === undefined ? [] : all.filter(({ backend }) => backend.name === name)
  return own.length === 0 ? all : own
}
