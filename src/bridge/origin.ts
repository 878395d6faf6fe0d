/** What has to be the same in every round of a request, whoever sends it (decisions: "`requestState` made by the gateway"). */
import { createHash } from 'node:crypto'
import type { Origin } from '../backends/backend.ts'
import { GatewayError } from '../errors.ts'
import { canonical } from '../protocol/canonical.ts'
import { type Message, stringParam, textParam } from '../protocol/message.ts'
import { nameParam } from '../protocol/named-by.ts'

/** Of caller, method, name or URI, and arguments; base64url. `_meta` and what answers questions differ from round to round. */
export function digestOf({ route, principal, request }: Origin): string {
  const { method, source } = request
  const { params } = request.scanned
  const named = nameParam(method!)
  const i = params?.keys.indexOf('arguments') ?? -1
  const facets = [
    route,
    principal.key,
    method,
    named === undefined ? null : (stringParam(request, named) ?? null),
    i === -1 ? null : canonical(source, params!.spans[2 * i]!)
  ]
  return createHash('sha256').update(JSON.stringify(facets)).digest('base64url')
}

/** Whether a request goes on with something; null says no. */
export function hasState(request: Message): boolean {
  const text = textParam(request, 'requestState')
  return text !== undefined && text !== 'null'
}

export const notGood = (why: string, id: string | undefined): GatewayError =>
  new GatewayError('state', `params.requestState is not good for this request: ${why}`, { id })
