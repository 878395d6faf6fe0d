/** `resources/subscribe` and `unsubscribe`: remembered per session; a shared upstream hears of the first and the last subscriber (R37-R41). */
import type { Backend } from '../../backends/backend.ts'
import { Running } from '../../exchanges/running.ts'
import { type MessageSource, single } from '../../exchanges/source.ts'
import { makeResult } from '../../protocol/make.ts'
import { isError, type Message, stringParam } from '../../protocol/message.ts'
import type { Live } from '../../sessions/lifecycle.ts'
import type { Context } from '../context.ts'

export function subscribe(request: Message, live: Live, backend: Backend, context: Context): MessageSource {
  const uri = stringParam(request, 'uri')
  if (uri === undefined) return new Running(live, backend, request, context.running)
  if (backend.scope === 'shared' && others(uri, live, backend, context)) {
    return single(remember(live, uri, context).then(() => makeResult(request.id!, {})))
  }
  return onSuccess(new Running(live, backend, request, context.running), () => remember(live, uri, context))
}

export function unsubscribe(request: Message, live: Live, backend: Backend, context: Context): MessageSource {
  const uri = stringParam(request, 'uri')
  if (uri === undefined) return new Running(live, backend, request, context.running)
  if (backend.scope === 'shared' && others(uri, live, backend, context)) {
    return single(forget(live, uri, context).then(() => makeResult(request.id!, {})))
  }
  return onSuccess(new Running(live, backend, request, context.running), () => forget(live, uri, context))
}

/** Whether another session of the shared upstream has subscribed to it. */
export function others(uri: string, live: Live, backend: Backend, context: Context): boolean {
  for (const user of context.links.users(live, backend)) {
    if (user !== live && user.record.subscriptions.includes(uri)) return true
  }
  return false
}

async function remember(live: Live, uri: string, { sessions }: Context): Promise<void> {
  await sessions.update(live, ({ subscriptions }) =>
    subscriptions.includes(uri) ? {} : { subscriptions: [...subscriptions, uri] }
  )
}

async function forget(live: Live, uri: string, { sessions }: Context): Promise<void> {
  await sessions.update(live, ({ subscriptions }) => ({ subscriptions: subscriptions.filter(other => other !== uri) }))
}

/** The call, with something done before its result is told. */
function onSuccess(running: Running, act: () => Promise<void>): MessageSource {
  return {
    async next() {
      const message = await running.next()
      if (message?.kind === 'response' && !isError(message)) await act()
      return message
    }
  }
}
