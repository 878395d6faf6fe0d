/**
 * What upstreams say outside of any exchange, and where it goes: list changes and updates to the channel of the sessions of
 * the link, requests to where the client can be asked (decisions: "Server requests"; R24, R40).
 */
import type { Backend, Link } from '../backends/backend.ts'
import { samplingForOlderClient } from '../bridge/older-sampling.ts'
import type { Asked } from '../exchanges/asked.ts'
import type { InFlight } from '../exchanges/in-flight.ts'
import { makeError, makeResult } from '../protocol/make.ts'
import { line, type Message, stringParam } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { facts } from '../telemetry/events.ts'
import type { Channels } from './channel.ts'
import { defaultLevel, passes } from './levels.ts'
import { refusal } from './refusal.ts'

export interface ReceiveContext {
  readonly asked: Asked
  readonly inFlight: InFlight
  readonly channels: Channels
}

export function receive(
  message: Message,
  link: Link,
  backend: Backend,
  users: ReadonlySet<Live>,
  context: ReceiveContext
): void {
  if (message.kind === 'request') {
    put(message, link, backend, users, context)
    return
  }
  if (message.method === 'notifications/cancelled') {
    const cancelled = context.asked.cancelledBy(link, message)
    if (cancelled?.asker !== undefined) cancelled.asker.inject(cancelled.message)
    else if (cancelled !== undefined) context.channels.post(cancelled.live, cancelled.message)
    return
  }
  const data = line(message)
  for (const live of users) {
    if (isFor(message, live, backend)) context.channels.postLine(live, data, message)
  }
}

/** A request of the upstream. Shared links declared nothing to ask for. */
function put(
  request: Message,
  link: Link,
  backend: Backend,
  users: ReadonlySet<Live>,
  { asked, inFlight, channels }: ReceiveContext
): void {
  if (request.method === 'ping') {
    link.send(makeResult(request.id!, {})).catch(() => {})
    return
  }
  const [live] = users
  const refuse = (code: number, text: string): void => {
    facts.drop.publish({ reason: 'refused_ask', backend: backend.name })
    link.send(makeError(request.id, code, text)).catch(() => {})
  }
  if (live === undefined || backend.scope === 'shared') {
    refuse(-32601, 'the backend is shared by several clients: none can be asked')
    return
  }
  const refused = live.ephemeral
    ? { code: -32601, text: 'the client has no session to be asked on' }
    : refusal(request, live.record.client.capabilities)
  const adapted = samplingForOlderClient(request, live.record.client.version)
  if (refused !== undefined || adapted === undefined) {
    refuse(refused?.code ?? -32602, refused?.text ?? 'the client cannot take this request')
    return
  }
  const call = channels.isOpen(live) ? undefined : oldestStreamable(inFlight, live)
  const ask = asked.ask(adapted, live, link, call)
  if (call === undefined) channels.post(live, ask)
  else call.inject(ask)
}

function oldestStreamable(inFlight: InFlight, live: Live) {
  for (const running of inFlight.of(live)) if (running.streamable) return running
  return undefined
}

/** Whether a notification is for this session: logs by its level, updates of a shared backend by its subscriptions. */
export function isFor(message: Message, live: Live, backend: Backend): boolean {
  if (message.method === 'notifications/message') {
    const threshold = live.record.level ?? (backend.scope === 'shared' ? defaultLevel : undefined)
    return threshold === undefined || passes(stringParam(message, 'level') ?? '', threshold)
  }
  if (message.method === 'notifications/resources/updated' && backend.scope === 'shared') {
    const uri = stringParam(message, 'uri') ?? ''
    return live.record.subscriptions.some(subscribed => uri.startsWith(subscribed))
  }
  return true
}
