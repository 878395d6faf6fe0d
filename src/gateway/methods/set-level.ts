/** `logging/setLevel`: kept per session; the upstream gets the lowest level of those who share it (server/utilities/logging; R101). */
import { GatewayError } from '../../errors.ts'
import { acting, later, responseOf } from '../../exchanges/acting.ts'
import { type MessageSource, single } from '../../exchanges/source.ts'
import { withParam } from '../../protocol/edit.ts'
import { errorMessage } from '../../protocol/make.ts'
import { type Message, stringParam } from '../../protocol/message.ts'
import { isLevel, lowestOf } from '../levels.ts'
import type { MethodCall } from './method.ts'

export function setLevel(call: MethodCall): MessageSource {
  const { request, live, backend, context, run } = call
  const level = stringParam(request, 'level')
  if (level === undefined || !isLevel(level)) {
    return single(errorMessage(new GatewayError('params', 'params.level is no log level'), request.id))
  }
  const set = (upstream: Message): MessageSource =>
    acting(run(upstream), async () => void (await context.sessions.update(live, () => ({ level }))))
  return later(request.id!, async () => {
    const link = await context.links.get(live, backend)
    if (link.server.capabilities.logging === undefined) {
      throw new GatewayError('method', 'the server does not log to clients')
    }
    if (backend.scope === 'session') return set(request)
    // What the upstream is told depends on the others, who may be changing theirs.
    const response = context.turns.run(`${backend.identity} level`, () => {
      const others = [...context.links.users(live, backend)].filter(user => user !== live)
      const lowest = lowestOf([level, ...others.map(({ record }) => record.level)])
      return responseOf(set(withParam(request, 'level', JSON.stringify(lowest))))
    })
    return single(response)
  })
}
