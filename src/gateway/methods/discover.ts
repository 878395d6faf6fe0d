/** `server/discover`: what a route is to modern clients (2026-07-28 server/discover). */
import type { Backend, Server } from '../../backends/backend.ts'
import { withoutTasks } from '../../bridge/older-capabilities.ts'
import { later } from '../../exchanges/acting.ts'
import { type MessageSource, single } from '../../exchanges/source.ts'
import { makeResult } from '../../protocol/make.ts'
import type { Message } from '../../protocol/message.ts'
import { isVersion } from '../../protocol/version.ts'
import type { Live } from '../../sessions/lifecycle.ts'
import { capabilitiesOf, instructionsOf } from '../capabilities.ts'
import type { Context } from '../context.ts'
import { type Hint, membersOf, noHint, ofDiscovery, together } from '../hints.ts'
import { renew } from '../renew.ts'
import type { Route } from '../route.ts'
import { serversOf } from './meet.ts'

type Capabilities = Readonly<Record<string, unknown>>

export const discover = (request: Message, route: Route, live: Live, context: Context): MessageSource =>
  later(request.id!, async () => {
    const { backend, versions } = route
    const servers = await serversAt(route, live, context)
    const { capabilities, instructions } =
      backend === undefined ? ofSeveral(servers) : alone(servers[0]!.server!, backend)
    return single(
      makeResult(request.id!, {
        supportedVersions: [...versions].reverse(),
        capabilities,
        instructions,
        ...membersOf(together(servers.map(one => hint(one, context))))
      })
    )
  })

/** What the backends say of themselves at this moment. */
async function serversAt({ backend, backends, union }: Route, live: Live, context: Context): Promise<Servers> {
  const { links, lists } = context
  if (backend !== undefined) {
    const link = await links.get(live, backend)
    await renew([{ link, backend }], lists)
    return [{ backend, server: link.server }]
  }
  await renew(
    backends.map(backend => ({ link: links.ready(live, backend), backend })),
    lists
  )
  return serversOf(live, union!, context)
}

type Servers = Awaited<ReturnType<typeof serversOf>>

interface Said {
  readonly capabilities: Capabilities
  readonly instructions: unknown
}

const ofSeveral = (servers: Servers): Said => ({
  capabilities: capabilitiesOf(servers.map(({ server, backend }) => server && offered(server, backend))),
  instructions: instructionsOf(servers.map(({ backend, server }) => ({ name: backend.name, server })))
})

function alone(server: Server, backend: Backend): Said {
  const { instructions } = JSON.parse(server.result) as { instructions?: unknown }
  return {
    capabilities: offered(server, backend),
    instructions: typeof instructions === 'string' ? instructions : undefined
  }
}

/** Of one that was never met it may be something else in a moment. */
function hint({ backend, server }: Servers[number], { hints }: Context): Hint {
  return server === undefined ? noHint : (ofDiscovery(server) ?? hints.of(backend, 'server/discover'))
}

/** Legacy tasks are nothing to modern clients, and a legacy server has no others, whatever it says. */
function offered({ version, capabilities }: Server, { knowsModern }: Backend): Capabilities {
  const { tasks: _, ...rest } = capabilities
  return isVersion(version) && knowsModern !== true ? withoutTasks(rest) : rest
}
