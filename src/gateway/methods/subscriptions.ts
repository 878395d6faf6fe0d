/** `resources/subscribe` and `unsubscribe`: remembered per session; a shared upstream hears of the first and the last subscriber (R37-R41, NTF-03). */
import type { Backend, Link } from '../../backends/backend.ts'
import { GatewayError } from '../../errors.ts'
import { acting, later, responseOf } from '../../exchanges/acting.ts'
import { type MessageSource, single } from '../../exchanges/source.ts'
import { makeRequest, makeResult } from '../../protocol/make.ts'
import { type Message, stringParam } from '../../protocol/message.ts'
import type { Live } from '../../sessions/lifecycle.ts'
import type { SessionRecord } from '../../sessions/session.ts'
import { isSubscribed } from '../../sessions/subscribed.ts'
import type { Context } from '../context.ts'
import type { MethodCall } from './method.ts'

/** Subscriptions of one session; of who listens for all modern clients of one principal. */
const maxSubscriptions = 1_000
const maxListened = 10_000

export function subscribe(call: MethodCall): MessageSource {
  const { request, live, backend, context, run } = call
  const uri = stringParam(request, 'uri')
  if (uri === undefined) return run(request)
  const remember = (): Promise<void> =>
    change(call, ({ subscriptions, places }) => ({
      subscriptions: subscriptions.includes(uri) ? subscriptions : [...subscriptions, uri],
      ...(call.placed && { places: { ...places, [uri]: backend.name } })
    }))
  return later(request.id!, async () => {
    const { subscriptions } = live.record
    const most = live.ephemeral ? maxListened : maxSubscriptions
    if (subscriptions.length >= most && !subscriptions.includes(uri)) {
      throw new GatewayError('params', `a session subscribes to ${most} resources at most`)
    }
    if (backend.scope === 'session') return acting(run(request), remember)
    return shared(call, uri, () => subscribers(uri, backend, context.links.users(live, backend)) > 0, remember)
  })
}

export function unsubscribe(call: MethodCall): MessageSource {
  const { request, live, backend, context, run } = call
  const uri = stringParam(request, 'uri')
  if (uri === undefined) return run(request)
  const forget = (): Promise<void> =>
    change(call, ({ subscriptions, places = {} }) => ({
      subscriptions: subscriptions.filter(other => other !== uri),
      ...(call.placed && { places: Object.fromEntries(Object.entries(places).filter(([other]) => other !== uri)) })
    }))
  if (backend.scope === 'session') return acting(run(request), forget)
  const others = (): Iterable<Live> => [...context.links.users(live, backend)].filter(user => user !== live)
  return later(request.id!, () => shared(call, uri, () => subscribers(uri, backend, others()) > 0, forget))
}

/** One change of a session at a time: side by side they would only make each other fail. */
async function change(
  { live, context: { sessions, turns } }: MethodCall,
  to: (record: SessionRecord) => Partial<SessionRecord>
): Promise<void> {
  await turns.run(`${live.record.id} subscriptions`, () => sessions.update(live, to))
}

/** With other subscribers the upstream does not hear of it. Checked and done in one turn, for they come and go. */
async function shared(
  { request, backend, context, run }: MethodCall,
  uri: string,
  silent: () => boolean,
  act: () => Promise<void>
): Promise<MessageSource> {
  const response = await context.turns.run(turnOf(backend, uri), async (): Promise<Message | undefined> => {
    if (!silent()) return responseOf(acting(run(request), act))
    await act()
    return makeResult(request.id!, {})
  })
  return single(response)
}

/**
 * The session is over, and has left its links. Upstreams that it shared with others, who still use them, hear when the
 * last subscriber of a resource is gone. Never rejects.
 */
export async function withdraw(
  uris: readonly string[],
  link: Link,
  backend: Backend,
  rest: ReadonlySet<Live>,
  turns: Context['turns']
): Promise<void> {
  const one = (uri: string): Promise<void> =>
    turns.run(turnOf(backend, uri), async () => {
      if (rest.size === 0 || subscribers(uri, backend, rest) > 0) return
      const exchange = link.exchange(makeRequest('0', 'resources/unsubscribe', { uri }), {
        principal: { key: 'gateway' }
      })
      const timer = setTimeout(() => exchange.detach(), patienceMs)
      await exchange.next().catch(() => {})
      clearTimeout(timer)
      exchange.detach()
    })
  await Promise.all(uris.map(one))
}

/** How long (ms) an upstream may take to hear of it, before the next one who has to do with the resource gets the turn. */
const patienceMs = 5_000

const turnOf = (backend: Backend, uri: string): string => `${backend.identity} ${uri}`

function subscribers(uri: string, backend: Backend, users: Iterable<Live>): number {
  let count = 0
  for (const { record } of users) if (isSubscribed(record, uri, backend)) count++
  return count
}
