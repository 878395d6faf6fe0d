/** `logging/setLevel`: kept per session; the upstream gets the lowest level of those who share it (server/utilities/logging; R101). */

import type { Backend } from '../../backends/backend.ts'
import { GatewayError, toGatewayError } from '../../errors.ts'
import { Running } from '../../exchanges/running.ts'
import { withParam } from '../../protocol/edit.ts'
import { errorMessage } from '../../protocol/make.ts'
import { isError, type Message, stringParam } from '../../protocol/message.ts'
import type { Live } from '../../sessions/lifecycle.ts'
import type { Context } from '../context.ts'
import { isLevel, lowest } from '../levels.ts'

/** Never rejects. */
export async function setLevel(request: Message, live: Live, backend: Backend, context: Context): Promise<Message> {
  try {
    const level = stringParam(request, 'level')
    if (level === undefined || !isLevel(level)) throw new GatewayError('params', 'params.level is no log level')
    const link = await context.links.get(live, backend)
    if (link.server.capabilities.logging === undefined)
      throw new GatewayError('method', 'the server does not log to clients')
    const response = await lastOf(
      new Running(live, backend, forUpstream(request, level, live, backend, context), context.running)
    )
    if (response === undefined) throw new GatewayError('backend_broke', 'the call was cancelled')
    if (!isError(response)) await context.sessions.update(live, () => ({ level }))
    return response
  } catch (error) {
    return errorMessage(toGatewayError(error), request.id)
  }
}

function forUpstream(request: Message, level: string, live: Live, backend: Backend, context: Context): Message {
  if (backend.scope !== 'shared') return request
  const others = [...context.links.users(live, backend)].flatMap(user =>
    user === live || user.record.level === undefined ? [] : [user.record.level]
  )
  return withParam(request, 'level', JSON.stringify(lowest([level, ...others])))
}

async function lastOf(running: Running): Promise<Message | undefined> {
  for (let message = await running.next(); message !== undefined; message = await running.next()) {
    if (message.kind === 'response') return message
  }
  return undefined
}
