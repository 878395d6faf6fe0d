/** Tells an upstream which log lines its sessions want (server/utilities/logging). */
import type { Backend, Link } from '../backends/backend.ts'
import { GatewayError } from '../errors.ts'
import type { LinksOptions } from '../links/links.ts'
import { makeRequest } from '../protocol/make.ts'
import { isError } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { facts } from '../telemetry/events.ts'
import { askUpstream } from './ask-upstream.ts'
import { lowestOf, passes } from './levels.ts'
import type { Turns } from './turns.ts'

export interface LevelContext {
  readonly turns: Turns
  readonly receive: LinksOptions['receive']
}

/** How long (ms) an upstream may take for it. */
const patienceMs = 5_000

/**
 * The lowest level that the users want, for a link that was opened, or joined by one of them, after they said so. Nothing when
 * none of them did, or the upstream does not log. Rejects with the GatewayError of an upstream that does not take it.
 */
export async function tellLevel(
  link: Link,
  backend: Backend,
  users: ReadonlySet<Live>,
  { turns, receive }: LevelContext
): Promise<void> {
  // The modern era has the level in every request.
  if (link.era === 'modern' || link.server.capabilities.logging === undefined) return
  // What the upstream is told depends on the others, who may be changing theirs; who has a link alone waits for nobody else.
  const whose = backend.scope === 'shared' ? '' : ` of ${[...users][0]?.record.id}`
  await turns.run(`${backend.identity} level${whose}`, async () => {
    if (!anySet(users)) return
    const levels = [...users].map(({ record }) => record.level)
    const level = backend.scope === 'shared' ? lowestOf(levels) : levels.find(level => level !== undefined)
    const response = await askUpstream(link, makeRequest('0', 'logging/setLevel', { level }), {
      timeoutMs: patienceMs,
      backend: backend.name,
      receive: message => receive(message, link, backend, users)
    })
    if (!isError(response)) return
    throw new GatewayError('backend_invalid', `backend "${backend.name}" refused the log level`, {
      backend: backend.name
    })
  })
}

/**
 * A request of this user wants lines from that level up. Undefined when the upstream has nothing more to be told; else
 * resolves when it was, or does not take it.
 */
export function wantLevel(level: string, live: Live, ...of: Parameters<typeof tellLevel>): Promise<void> | undefined {
  const [link, backend] = of
  const before = live.record.level
  if (link.server.capabilities.logging === undefined || (before !== undefined && passes(level, before)))
    return undefined
  live.record = { ...live.record, level }
  return tellLevel(...of).catch((error: unknown) => {
    facts.notice.publish({ level: 'warn', text: 'the log level could not be set', backend: backend.name, error })
  })
}

function anySet(users: Iterable<Live>): boolean {
  for (const { record } of users) if (record.level !== undefined) return true
  return false
}

/** The same for whom nobody waits. Never rejects. */
export function tellLevelLater(...of: Parameters<typeof tellLevel>): void {
  if (!anySet(of[2])) return
  tellLevel(...of).catch((error: unknown) => {
    facts.notice.publish({ level: 'warn', text: 'the log level could not be set', backend: of[1].name, error })
  })
}
