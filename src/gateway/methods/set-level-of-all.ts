/** `logging/setLevel` where several backends are one server: all that log are told, those that are opened later then (R101). */
import { GatewayError } from '../../errors.ts'
import { later } from '../../exchanges/acting.ts'
import { single } from '../../exchanges/source.ts'
import { errorMessage, makeResult } from '../../protocol/make.ts'
import { stringParam } from '../../protocol/message.ts'
import { facts } from '../../telemetry/events.ts'
import { isLevel } from '../levels.ts'
import { tellLevel } from '../link-level.ts'
import type { UnionMethod } from './union-call.ts'

export const setLevelOfAll: UnionMethod = ({ request, live, union, context }) => {
  const level = stringParam(request, 'level')
  if (level === undefined || !isLevel(level)) {
    return single(errorMessage(new GatewayError('params', 'params.level is no log level'), request.id))
  }
  const { known, links, sessions } = context
  if (union.members.every(({ backend }) => known.has(backend, 'logging') === false)) {
    return single(errorMessage(new GatewayError('method', 'no backend logs to clients'), request.id))
  }
  return later(request.id!, async () => {
    await sessions.update(live, () => ({ level }))
    const open = [...links.of(live)].filter(({ backend }) => union.has(backend))
    const told = await Promise.allSettled(
      open.map(({ link, backend }) => tellLevel(link, backend, links.users(live, backend), context))
    )
    for (const [i, result] of told.entries()) {
      if (result.status === 'fulfilled') continue
      if (union.options.onError === 'fail') throw result.reason
      const { name } = open[i]!.backend
      facts.notice.publish({ level: 'warn', text: 'the log level was not set', backend: name, error: result.reason })
    }
    return single(makeResult(request.id!, {}))
  })
}
