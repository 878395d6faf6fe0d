/** Sets again on a link that was opened anew what its sessions had set: log level and subscriptions (decisions: "Upstream session lost"). */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Backend, Link } from '../backends/backend.ts'
import { GatewayError } from '../errors.ts'
import { makeRequest } from '../protocol/make.ts'
import { isError, type Message } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { subscriptionsAt } from '../sessions/subscribed.ts'
import { facts } from '../telemetry/events.ts'
import { lowestOf } from './levels.ts'

export interface RestoreContext {
  /** Its lists may be others than before. */
  readonly changed: (link: Link, backend: Backend, users: ReadonlySet<Live>) => void
  /** What the upstream says meanwhile. */
  readonly receive: (message: Message, link: Link, backend: Backend, users: ReadonlySet<Live>) => void
  /** The sessions heard already that lists may have changed. */
  readonly told?: boolean
  /** How long (ms) each of the requests may take: the call that waits for the link has a deadline of its own. Default 5,000. */
  readonly patienceMs?: number
}

/** Never rejects: what cannot be set again is told to the operator. */
export async function restore(
  link: Link,
  backend: Backend,
  users: ReadonlySet<Live>,
  context: RestoreContext
): Promise<void> {
  const levels = [...users].map(({ record }) => record.level)
  const uris = new Set([...users].flatMap(({ record }) => subscriptionsAt(record, backend)))
  const requests: Message[] = []
  if (link.era === 'modern') uris.clear()
  else if (levels.some(level => level !== undefined) && link.server.capabilities.logging !== undefined) {
    requests.push(makeRequest('0', 'logging/setLevel', { level: lowestOf(levels) }))
  }
  for (const uri of uris) requests.push(makeRequest('0', 'resources/subscribe', { uri }))
  await Promise.all(requests.map(request => settle(request, link, backend, users, context)))
  if (context.told !== true) context.changed(link, backend, users)
}

/** Pauses (ms) before a request is sent once more whose connection broke: what it sets may be set twice. */
const pauses = [50, 250]

async function settle(
  request: Message,
  link: Link,
  backend: Backend,
  users: ReadonlySet<Live>,
  context: RestoreContext
): Promise<void> {
  const until = performance.now() + (context.patienceMs ?? 5_000)
  let problem = await once(request, link, backend, users, context, until)
  for (const pause of pauses) {
    if (!isBroken(problem) || performance.now() + pause > until) break
    await sleep(pause)
    problem = await once(request, link, backend, users, context, until)
  }
  if (problem === undefined) return
  const text = `${request.method} could not be said again`
  facts.notice.publish({ level: 'warn', text, backend: backend.name, error: problem })
}

const isBroken = (problem: unknown): boolean =>
  problem instanceof GatewayError && (problem.code === 'backend_broke' || problem.code === 'backend_unavailable')

/** Resolves to what went wrong. */
async function once(
  request: Message,
  link: Link,
  backend: Backend,
  users: ReadonlySet<Live>,
  { receive }: RestoreContext,
  until: number
): Promise<unknown> {
  const exchange = link.exchange(request, { principal: { key: 'gateway' } })
  const timer = setTimeout(() => exchange.cancel('took too long'), Math.max(0, until - performance.now()))
  let problem: unknown = 'no answer'
  try {
    for await (const message of exchange) {
      if (message.kind !== 'response') receive(message, link, backend, users)
      else problem = isError(message) ? message.source.toString() : undefined
    }
  } catch (error) {
    problem = error
  } finally {
    clearTimeout(timer)
  }
  return problem
}
