/**
 * `initialize`: the version is the gateway's own answer, the rest is what the backend says (basic/lifecycle,
 * "Initialization"; R1-R7, R14). A session is made only when the backend's handshake succeeded.
 */
import type { Backend, Server } from '../../backends/backend.ts'
import { GatewayError, toGatewayError } from '../../errors.ts'
import { withMember } from '../../protocol/edit.ts'
import { errorMessage } from '../../protocol/make.ts'
import { type Message, readMessage, stringParam, textOf, textParam } from '../../protocol/message.ts'
import { ScanError, scan } from '../../protocol/scan.ts'
import { firstModern, isModern, isVersion } from '../../protocol/version.ts'
import { bytes } from '../../protocol/write.ts'
import { type Live, Sessions, sessionHash } from '../../sessions/lifecycle.ts'
import type { Client, SessionId, SessionRecord } from '../../sessions/session.ts'
import type { Context } from '../context.ts'
import type { Incoming } from '../request.ts'
import { newest, type Route } from '../route.ts'
import { withTasksFor } from '../task-capabilities.ts'
import { meet } from './meet.ts'

export interface Initialized {
  readonly response: Message
  /** The id to give to the client; undefined when none was made. */
  readonly session: SessionId | undefined
}

/** Throws a GatewayError for what is refused by status; a backend that fails is an error response. */
export async function initialize(request: Message, incoming: Incoming, context: Context): Promise<Initialized> {
  const { route } = incoming
  const client = clientOf(request, route)
  refuseMixedEras(request, incoming)
  await refuseLive(request, incoming, context)
  const record = recordOf(client, incoming)
  incoming.note.version = client.version
  incoming.note.backend = route.backend?.name
  const { sessions } = context
  if (context.mode === 'stateless') {
    const live = sessions.ephemeral(record)
    try {
      return { response: await answered(request, live, route, context), session: undefined }
    } catch (error) {
      return { response: errorMessage(toGatewayError(error), request.id), session: undefined }
    } finally {
      // Not waited for: the client has nothing to do with the end of this upstream session.
      live.closed = true
      void context.links.letGo(live)
    }
  }
  const live = await sessions.create(record).catch(error => {
    throw error instanceof GatewayError ? error.withId(request.id) : error
  })
  try {
    const response = await answered(request, live, route, context)
    incoming.note.session = sessionHash(live)
    context.opened(live)
    return { response, session: record.id }
  } catch (error) {
    await sessions.close(live, 'refused')
    return { response: errorMessage(toGatewayError(error), request.id), session: undefined }
  }
}

async function answered(request: Message, live: Live, { backend, union }: Route, context: Context): Promise<Message> {
  const only = backend ?? (union!.members.length === 1 ? union!.members[0]!.backend : undefined)
  if (only === undefined) return meet(request, live, union!, context)
  const link = await context.links.get(live, only)
  return resultOf(request, link.server, live.record.client.version, only)
}

function clientOf(request: Message, route: Route): Client {
  const asked = stringParam(request, 'protocolVersion')
  if (asked === undefined) {
    throw new GatewayError('params', 'params.protocolVersion must be a string', { id: request.id })
  }
  const capabilities = textParam(request, 'capabilities') ?? '{}'
  const info = textParam(request, 'clientInfo') ?? '{"name":"unknown","version":"0"}'
  for (const [name, text] of Object.entries({ capabilities, clientInfo: info })) {
    if (!text.startsWith('{')) throw new GatewayError('params', `params.${name} must be an object`, { id: request.id })
  }
  return { version: isVersion(asked) && route.versions.includes(asked) ? asked : newest(route), capabilities, info }
}

/** A modern version that we speak in the header and a legacy one in the body cannot both be meant; else the header is not looked at. */
function refuseMixedEras(request: Message, { version }: Incoming): void {
  const asked = stringParam(request, 'protocolVersion')!
  if (version !== firstModern || isModern(asked)) return
  throw new GatewayError('mismatch', `MCP-Protocol-Version is ${version}, params.protocolVersion is ${asked}`, {
    id: request.id
  })
}

/** A stale id is no hindrance: some clients send it along (R14). */
async function refuseLive(request: Message, incoming: Incoming, { sessions }: Context): Promise<void> {
  if (incoming.session === undefined) return
  if ((await sessions.get(incoming.session, incoming.route.path, incoming.principal.key)) === undefined) return
  throw new GatewayError('invalid', 'the session is initialized already', { id: request.id })
}

const recordOf = (client: Client, { route, principal, address }: Incoming): SessionRecord => ({
  id: Sessions.newId(),
  revision: 0,
  route: route.path,
  principal: principal.key,
  group: principal.subject === undefined ? address : principal.key,
  client,
  operating: false,
  subscriptions: [],
  links: {}
})

/** The backend's InitializeResult with the version of this leg; members that it forgot are added (R194). */
function resultOf(request: Message, server: Server, version: string, backend: Backend): Message {
  let result = messageLike(server.result)
  result = withMember(result, 'protocolVersion', JSON.stringify(version))
  if (!isObjectAt(result, 'serverInfo')) {
    result = withMember(result, 'serverInfo', JSON.stringify({ name: backend.name, version: '0' }))
  }
  const capabilities = withTasksFor(server.capabilities, version, backend)
  if (capabilities !== server.capabilities || !isObjectAt(result, 'capabilities')) {
    result = withMember(result, 'capabilities', JSON.stringify(capabilities))
  }
  return readMessage(Buffer.from(`{"jsonrpc":"2.0","id":${request.id},"result":${bytes(result)}}`), anyDepth)
}

/** A backend's result was bounded when it came in. */
const anyDepth = 2_000

/** An object that is no message, for the edits that messages have. */
function messageLike(text: string): Message {
  const source = Buffer.from(text)
  try {
    const found = scan(source, anyDepth)
    if (found.kind === 'object') {
      return { kind: 'response', id: undefined, method: undefined, source, scanned: found.object, edits: [] }
    }
  } catch (error) {
    // A member stands twice.
    if (!(error instanceof ScanError)) throw error
  }
  throw new GatewayError('backend_invalid', 'the backend sent no InitializeResult')
}

const isObjectAt = ({ source, scanned }: Message, key: string): boolean =>
  textOf(source, scanned.top, key)?.startsWith('{') === true
