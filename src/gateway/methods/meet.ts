/** `initialize` where several backends are one server: answered with what is known of them, without waiting for the slowest (MUX-06). */
import type { Backend, Server } from '../../backends/backend.ts'
import { GatewayError } from '../../errors.ts'
import type { Links } from '../../links/links.ts'
import { makeResult } from '../../protocol/make.ts'
import type { Message } from '../../protocol/message.ts'
import type { Live } from '../../sessions/lifecycle.ts'
import { capabilitiesOf, instructionsOf } from '../capabilities.ts'
import type { Context } from '../context.ts'
import type { Known } from '../known.ts'
import { self } from '../self.ts'
import { withTasksFor } from '../task-capabilities.ts'
import type { Member, Union } from '../union.ts'

export interface MeetContext {
  readonly links: Pick<Links, 'get'>
  readonly known: Known
}

/**
 * The InitializeResult. Backends that were never met are met, side by side, by one session for all that come meanwhile, and
 * given `initTimeout`.
 * Rejects, with `onError: fail`, with the GatewayError of one that fails.
 */
export async function meet(request: Message, live: Live, union: Union, context: Context): Promise<Message> {
  const { version } = live.record.client
  const servers = await serversOf(live, union, context)
  return makeResult(request.id!, {
    protocolVersion: version,
    capabilities: capabilitiesOf(
      servers.map(({ server, backend }) => server && withTasksFor(server.capabilities, version, backend))
    ),
    serverInfo: JSON.parse(self.info),
    instructions: instructionsOf(servers.map(({ backend, server }) => ({ name: backend.name, server })))
  })
}

/** What the backends say of themselves; undefined for one that was never met. Rejects as {@link meet}. */
export async function serversOf(
  live: Live,
  union: Union,
  context: MeetContext
): Promise<readonly { readonly backend: Backend; readonly server: Server | undefined }[]> {
  const { known } = context
  const strangers = union.members.filter(({ backend }) => known.get(backend) === undefined)
  if (strangers.length > 0) await opened(strangers, live, union, context)
  return union.members.map(({ backend }) => ({ backend, server: known.get(backend) }))
}

async function opened(strangers: readonly Member[], live: Live, union: Union, context: MeetContext): Promise<void> {
  const { links, known } = context
  const { initTimeoutMs, onError } = union.options
  const asked = strangers.filter(({ backend }) => onError === 'fail' || !known.late(backend))
  const openings = asked.map(async ({ backend }) => {
    try {
      await known.meet(backend, () => links.get(live, backend), initTimeoutMs)
    } catch (error) {
      if (!live.closed) known.waited(backend)
      if (onError === 'fail') throw error
    }
  })
  for (const opening of openings) opening.catch(() => {})
  if (openings.length === 0) return
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>(resolve => {
    timer = setTimeout(resolve, initTimeoutMs, 'late')
  })
  try {
    if ((await Promise.race([late, Promise.all(openings)])) !== 'late') return
  } finally {
    clearTimeout(timer)
  }
  const missing = asked.filter(({ backend }) => known.get(backend) === undefined)
  for (const { backend } of missing) known.waited(backend)
  if (onError === 'skip' || missing.length === 0) return
  const { name } = missing[0]!.backend
  throw new GatewayError('timeout', `backend "${name}" did not answer within ${initTimeoutMs} ms`, { backend: name })
}
