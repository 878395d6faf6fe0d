/** The session of a legacy request: found, and checked against what the request says of its version (decisions: "Legacy era"). */
import { GatewayError, toGatewayError } from '../errors.ts'
import { assumedVersion, isVersion } from '../protocol/version.ts'
import { type Live, Sessions, sessionHash } from '../sessions/lifecycle.ts'
import { facts } from '../telemetry/events.ts'
import type { Context } from './context.ts'
import type { Incoming, IncomingPost } from './request.ts'
import type { Route } from './route.ts'

type Settings = Pick<Context, 'sessions' | 'mode' | 'self' | 'onMismatch'>

/** The session, or, where `sessions.mode` allows it, one for this request alone. Throws, or rejects, with a GatewayError. */
export function sessionOf(incoming: IncomingPost, context: Settings, id?: string): Promise<Live> | Live {
  if (incoming.session !== undefined) return known(incoming, context, id)
  if (context.mode === 'required') {
    throw new GatewayError(
      'session_required',
      'Mcp-Session-Id is missing: initialize first, then send the id that it gave',
      { id }
    )
  }
  const version = incoming.version ?? assumedVersion
  checkServed(version, incoming.route, id)
  return context.sessions.ephemeral({
    id: Sessions.newId(),
    revision: 0,
    route: incoming.route.path,
    principal: incoming.principal.key,
    group: incoming.address,
    client: { ...context.self, version },
    operating: true,
    subscriptions: [],
    links: {}
  })
}

/** The session that the request names. Throws, or rejects with, `session` (404). */
export function known(incoming: Incoming, { sessions }: Settings, id?: string): Promise<Live> | Live {
  const { route, principal } = incoming
  const found = sessions.get(incoming.session!, route.path, principal.key)
  if (!(found instanceof Promise)) return noted(found, incoming, id)
  return found.then(
    live => noted(live, incoming, id),
    error => {
      throw toGatewayError(error).withId(id)
    }
  )
}

function noted(live: Live | undefined, { note }: Incoming, id: string | undefined): Live {
  if (live === undefined) throw noSession(id)
  if (facts.request.wanted) note.session = sessionHash(live)
  note.version = live.record.client.version
  return live
}

/**
 * The version header against the session's. Also whether the session ended since it was found: what begins now would never be
 * given back. Throws `session` (404), `version` (400).
 */
export function check(live: Live, incoming: Incoming, { onMismatch }: Settings, id?: string): void {
  if (live.closed) throw noSession(id)
  if (incoming.version === undefined || incoming.version === live.record.client.version) return
  checkServed(incoming.version, incoming.route, id)
  facts.drop.publish({ reason: 'version_mismatch' })
  if (onMismatch === 'useSession') return
  throw new GatewayError('version', `the session speaks ${live.record.client.version}, not ${incoming.version}`, { id })
}

function checkServed(version: string, route: Route, id: string | undefined): void {
  if (isVersion(version) && route.versions.includes(version)) return
  throw new GatewayError('version', `MCP-Protocol-Version must be one of ${route.versions.join(', ')}`, {
    id,
    data: { supported: [...route.versions].reverse() }
  })
}

const noSession = (id: string | undefined): GatewayError =>
  new GatewayError('session', 'the session is unknown or has expired: initialize again', { id })
