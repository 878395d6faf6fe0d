/** Sets again on a link that was opened anew what its sessions had set: log level and subscriptions (decisions: "Upstream session lost"). */
import type { Backend, Link } from '../backends/backend.ts'
import { makeRequest } from '../protocol/make.ts'
import type { Message } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { facts } from '../telemetry/events.ts'
import type { Channels } from './channel.ts'
import { lowest } from './levels.ts'
import { listChanges } from './list-changed.ts'

export async function restore(
  link: Link,
  backend: Backend,
  users: ReadonlySet<Live>,
  channels: Channels
): Promise<void> {
  const levels = [...users].flatMap(live => (live.record.level === undefined ? [] : [live.record.level]))
  const uris = new Set([...users].flatMap(live => live.record.subscriptions))
  const requests: Message[] = []
  if (levels.length > 0 && link.server.capabilities.logging !== undefined) {
    requests.push(makeRequest('0', 'logging/setLevel', { level: lowest(levels) }))
  }
  for (const uri of uris) requests.push(makeRequest('0', 'resources/subscribe', { uri }))
  await Promise.all(requests.map(request => settle(link, backend, request)))
  for (const message of listChanges(link.server)) for (const live of users) channels.post(live, message)
}

/** How long one of these may take: the call that waits for the link has a deadline of its own. */
const patienceMs = 5_000

async function settle(link: Link, backend: Backend, request: Message): Promise<void> {
  const exchange = link.exchange(request, { principal: { key: 'gateway' } })
  const timer = setTimeout(() => exchange.cancel('took too long'), patienceMs)
  try {
    for await (const message of exchange) if (message.kind === 'response') break
  } catch (error) {
    facts.notice.publish({
      level: 'warn',
      text: `${request.method} could not be said again`,
      backend: backend.name,
      error
    })
  } finally {
    clearTimeout(timer)
  }
}
