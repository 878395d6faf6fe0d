/** `resources/read`, `subscribe` and `unsubscribe`: to the backend whose the URI is (server/resources). */
import { GatewayError } from '../../errors.ts'
import { later } from '../../exchanges/acting.ts'
import { type MessageSource, single } from '../../exchanges/source.ts'
import { errorMessage } from '../../protocol/make.ts'
import { stringParam } from '../../protocol/message.ts'
import { resolveUri } from '../resolve-uri.ts'
import type { Member } from '../union.ts'
import { subscribe, unsubscribe } from './subscriptions.ts'
import type { UnionCall, UnionMethod } from './union-call.ts'

type Send = (call: UnionCall, member: Member) => MessageSource

const byUri =
  (send: Send): UnionMethod =>
  call => {
    const { request, live, union, note, context } = call
    const uri = stringParam(request, 'uri')
    if (uri === undefined) {
      return single(errorMessage(new GatewayError('params', 'params.uri must be a string'), request.id))
    }
    const to = (member: Member): MessageSource => {
      note.backend = member.backend.name
      return send(call, member)
    }
    const remembered = placeOf(call, uri)
    if (remembered !== undefined) return to(remembered)
    const member = resolveUri(union, uri, live, context.linked.of(uri, live))
    return member instanceof Promise ? later(request.id!, async () => to(await member)) : to(member)
  }

/** A subscription is ended where it was made, whatever is listed now. */
function placeOf({ request, live: { record }, union }: UnionCall, uri: string): Member | undefined {
  if (request.method !== 'resources/unsubscribe' || record.places === undefined) return undefined
  return Object.hasOwn(record.places, uri) ? union.member(record.places[uri]!) : undefined
}

export const readResource = byUri(({ request, run }, { backend }) => run(backend, request))

export const subscribeAt = byUri(({ request, live, context, run }, { backend }) => {
  const refused = cannot(request.id!, context.known.get(backend)?.capabilities)
  return (
    refused ?? subscribe({ request, live, backend, context, run: upstream => run(backend, upstream), placed: true })
  )
})

export const unsubscribeAt = byUri(({ request, live, context, run }, { backend }) => {
  const refused = cannot(request.id!, context.known.get(backend)?.capabilities)
  return (
    refused ?? unsubscribe({ request, live, backend, context, run: upstream => run(backend, upstream), placed: true })
  )
})

/** Backends that have no subscriptions are not asked for one. */
function cannot(id: string, capabilities: Readonly<Record<string, unknown>> | undefined): MessageSource | undefined {
  const resources = capabilities?.resources as { readonly subscribe?: unknown } | null | undefined
  if (capabilities === undefined || resources?.subscribe === true) return undefined
  return single(errorMessage(new GatewayError('method', 'the backend has no subscriptions to this resource'), id))
}
