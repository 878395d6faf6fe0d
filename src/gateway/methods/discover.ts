/** `server/discover`: what a route is to modern clients (2026-07-28 server/discover). */
import type { Server } from '../../backends/backend.ts'
import { later } from '../../exchanges/acting.ts'
import { type MessageSource, single } from '../../exchanges/source.ts'
import { makeResult } from '../../protocol/make.ts'
import type { Message } from '../../protocol/message.ts'
import type { Live } from '../../sessions/lifecycle.ts'
import { capabilitiesOf, instructionsOf } from '../capabilities.ts'
import type { Context } from '../context.ts'
import type { Route } from '../route.ts'
import { serversOf } from './meet.ts'

type Capabilities = Readonly<Record<string, unknown>>

export const discover = (request: Message, route: Route, live: Live, context: Context): MessageSource =>
  later(request.id!, async () => {
    const { backend, union, versions } = route
    const said =
      backend === undefined
        ? together(await serversOf(live, union!, context))
        : alone((await context.links.get(live, backend)).server)
    return single(
      makeResult(request.id!, {
        supportedVersions: [...versions].reverse(),
        capabilities: offered(said.capabilities),
        instructions: said.instructions
      })
    )
  })

interface Said {
  readonly capabilities: Capabilities
  readonly instructions: unknown
}

const together = (servers: Awaited<ReturnType<typeof serversOf>>): Said => ({
  capabilities: capabilitiesOf(servers.map(({ server }) => server?.capabilities)),
  instructions: instructionsOf(servers.map(({ backend, server }) => ({ name: backend.name, server })))
})

function alone({ capabilities, result }: Server): Said {
  const { instructions } = JSON.parse(result) as { instructions?: unknown }
  return { capabilities, instructions: typeof instructions === 'string' ? instructions : undefined }
}

/** Legacy tasks are nothing to modern clients. */
const offered = ({ tasks: _, ...capabilities }: Capabilities): Capabilities => capabilities
