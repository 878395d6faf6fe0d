/**
 * Goes on with the call of an instance that died, where the upstream can go on with its stream (basic/transports, "Resumability
 * and Redelivery"): it is asked for what follows, never for the call again.
 */
import type { Backend } from '../backends/backend.ts'
import { GatewayError } from '../errors.ts'
import { Running, type RunningContext } from '../exchanges/running.ts'
import type { MessageSource } from '../exchanges/source.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Claimed } from '../streams/stream-log.ts'
import { requestOf } from './post-facts.ts'

/** Undefined: it cannot be gone on with. */
export function goOn(
  { facts, place }: Pick<Claimed, 'facts' | 'place'>,
  live: Live,
  backend: Backend,
  context: RunningContext
): MessageSource | undefined {
  const request = requestOf(facts)
  if (place === undefined || request === undefined) return undefined
  let begun = false
  return new Running(live, backend, request, true, {
    ...context,
    begin(link, call) {
      if (begun || link.state === undefined) {
        throw new GatewayError('backend_broke', `backend "${backend.name}" cannot go on with the call`, {
          backend: backend.name
        })
      }
      begun = true
      return link.resume(request.id!, place, call)
    }
  })
}
