/**
 * What upstreams say outside of any exchange, and where it goes: list changes and updates to the channel of the sessions of
 * the link, requests to where the client can be asked (decisions: "Server requests"; R24, R40).
 */
import type { Backend, Link } from '../backends/backend.ts'
import type { Asked, Asker } from '../exchanges/asked.ts'
import type { InFlight } from '../exchanges/in-flight.ts'
import { isRefusal, type Refusal, type Running, tooMany } from '../exchanges/running.ts'
import { makeError } from '../protocol/make.ts'
import { type Message, sameId, stringParam, textMeta, textParam } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { subscriptionsAt } from '../sessions/subscribed.ts'
import { facts } from '../telemetry/events.ts'
import { admit, ofNobody } from './admit.ts'
import type { Channels } from './channel.ts'
import { defaultLevel, passes } from './levels.ts'
import type { Listens } from './listens.ts'
import { isListChanged, kept } from './outgoing.ts'
import { relatedTaskOf } from './task-ids.ts'
import type { TaskView } from './task-view.ts'
import type { Union } from './union.ts'
import type { Unions } from './unions.ts'

export interface ReceiveContext {
  readonly asked: Asked
  readonly inFlight: InFlight
  readonly channels: Pick<Channels, 'isOpen' | 'post'>
  /** For who listens without a session. */
  readonly listens: Pick<Listens, 'tell'>
  readonly tasks: Pick<TaskView, 'toClient' | 'refusal'>
  readonly unions: Pick<Unions, 'of' | 'heard'>
  /** Gives what came beside the calls of a modern client to the one that it belongs to; false: to none. */
  readonly beside: (message: Message, live: Live, backend: Backend) => boolean
}

export function receive(
  message: Message,
  link: Link,
  backend: Backend,
  users: ReadonlySet<Live>,
  context: ReceiveContext
): void {
  const [live] = users
  if (live?.modern === true && backend.scope === 'session' && ofCalls(message)) {
    const isTaken = context.beside(message, live, backend)
    if (!isTaken && message.kind === 'request') refuse(message, link, backend, noCall)
    return
  }
  if (message.kind === 'request') {
    put(message, link, backend, live, context)
    return
  }
  if (message.method === 'notifications/cancelled') {
    for (const live of users) context.asked.cancelled(context.tasks.toClient(message, live, backend), live, link)
    return
  }
  context.unions.heard(message, backend)
  const data = kept(message)
  for (const live of users) {
    if (!isFor(message, live, backend, context.unions.of(live))) continue
    if (live.ephemeral) {
      context.listens.tell(live, message)
      continue
    }
    if (isOfOther(message, live, backend, context.inFlight)) {
      facts.drop.publish({ reason: 'unknown_token', backend: backend.name })
      continue
    }
    const seen = context.tasks.toClient(message, live, backend)
    void context.channels.post(live, seen, seen === message ? data : undefined)
  }
}

/** Progress with the token that a call at another backend has, and none at this one: clients would take it for that call's (CAN-05). */
function isOfOther(message: Message, live: Live, backend: Backend, inFlight: InFlight): boolean {
  const token = message.method === 'notifications/progress' ? textParam(message, 'progressToken') : undefined
  if (token === undefined) return false
  const backends = new Set<Backend>()
  for (const call of inFlight.of(live)) {
    const own = textMeta(call.request, 'progressToken')
    if (own !== undefined && sameId(own, token)) backends.add(call.backend)
  }
  return backends.size > 0 && !backends.has(backend)
}

/** A request of the upstream that came with no call. */
function put(request: Message, link: Link, backend: Backend, live: Live | undefined, context: ReceiveContext): void {
  const asked = live === undefined ? ofNobody : ask(request, link, backend, live, context)
  if (asked !== undefined) refuse(request, link, backend, asked)
}

function refuse({ id }: Message, link: Link, { name }: Backend, { code, text }: Refusal): void {
  facts.drop.publish({ reason: 'refused_ask', backend: name })
  link.send(makeError(id, code, text)).catch(() => {})
}

/** Clients without a session can be asked during a call, and by it. */
const noCall: Refusal = { code: -32601, text: 'the client can be asked during a call, and it is not known by which' }

/** What means something to a modern client as a part of a call alone. */
const ofCalls = ({ kind, method }: Message): boolean =>
  kind === 'request' || method === 'notifications/cancelled' || method === 'notifications/message'

function ask(request: Message, link: Link, backend: Backend, live: Live, context: ReceiveContext): Refusal | undefined {
  const admitted = context.tasks.refusal(request, live, backend) ?? admit(request, live, backend, true)
  if (isRefusal(admitted)) return admitted
  const asker = bystanders(request, backend, live, context)
  const message = context.asked.ask(context.tasks.toClient(admitted, live, backend), live, link, asker)
  if (message === undefined) return tooMany
  asker.tell(message)
  return undefined
}

/** It may belong to any call at the backend: all stand still. It goes to the call of its task, else to the channel while that is open, else to the oldest call, rather one at the backend. */
function bystanders(request: Message, backend: Backend, live: Live, { inFlight, channels }: ReceiveContext): Asker {
  const task = relatedTaskOf(request)
  const calls = [...inFlight.of(live)].filter(call => call.backend === backend)
  return {
    asked() {
      for (const call of calls) call.asked()
    },
    answered() {
      for (const call of calls) call.answered()
    },
    tell(message) {
      const open = [...inFlight.of(live)].filter(call => call.streamable && !call.over)
      const near = open.filter(call => call.backend === backend)
      const call =
        near.find(call => task !== undefined && isOfTask(call, task)) ??
        (channels.isOpen(live) ? undefined : (near[0] ?? open[0]))
      if (call === undefined) void channels.post(live, message)
      else call.tell(message)
    }
  }
}

const isOfTask = ({ request }: Running, task: string): boolean =>
  request.method === 'tasks/result' && stringParam(request, 'taskId') === task

/**
 * Whether a notification is for this session: logs by its level, updates of a shared backend, or of one of several, by its
 * subscriptions. That a list of one of several changed is told when it was merged with the others. Whose a task of a shared
 * backend is cannot be told, so that its status is told to nobody: nobody may rely on it.
 */
export function isFor(message: Message, live: Live, backend: Backend, union?: Union): boolean {
  if (message.method === 'notifications/message') {
    const threshold = live.record.level ?? (backend.scope === 'shared' ? defaultLevel : undefined)
    return threshold === undefined || passes(stringParam(message, 'level') ?? '', threshold)
  }
  if (union !== undefined && isListChanged(message)) return false
  if (message.method === 'notifications/resources/updated' && (union !== undefined || backend.scope === 'shared')) {
    const uri = stringParam(message, 'uri') ?? ''
    return subscriptionsAt(live.record, backend).some(subscribed => uri.startsWith(subscribed))
  }
  return !(message.method === 'notifications/tasks/status' && backend.scope === 'shared')
}
