/** `completion/complete` follows its reference: to the backend that has the prompt, or the resource (server/utilities/completion). */
import { GatewayError } from '../../errors.ts'
import { later } from '../../exchanges/acting.ts'
import { type MessageSource, single } from '../../exchanges/source.ts'
import { splice } from '../../protocol/edit.ts'
import { find } from '../../protocol/find.ts'
import { errorMessage, makeResult } from '../../protocol/make.ts'
import { type Message, textParam } from '../../protocol/message.ts'
import type { Live } from '../../sessions/lifecycle.ts'
import { kinds } from '../list-items.ts'
import { resolveName, type Target } from '../resolve-name.ts'
import { resolveUri } from '../resolve-uri.ts'
import type { Member, Union } from '../union.ts'
import type { UnionMethod } from './union-call.ts'

export const complete: UnionMethod = ({ request, live, union, context, note, run }) => {
  const { type, name, uri } = refOf(request)
  const send = ({ backend }: Member, upstream: Message): MessageSource => {
    note.backend = backend.name
    if (context.known.has(backend, 'completions') === false) return single(nothing(request))
    return run(backend, upstream)
  }
  if (type === 'ref/prompt' && typeof name === 'string') {
    const to = ({ member, name: own }: Target): MessageSource =>
      send(member, own === name ? request : withRefName(request, own))
    const target = resolveName(union, kinds.prompts, name, live)
    return target instanceof Promise ? later(request.id!, async () => to(await target)) : to(target)
  }
  if (type === 'ref/resource' && typeof uri === 'string') {
    return later(request.id!, async () => {
      await union.view(live).read(kinds.templates, live)
      return send(listing(union, uri, live) ?? (await resolveUri(union, uri, live)), request)
    })
  }
  const text = 'params.ref must name a prompt (ref/prompt) or a resource (ref/resource)'
  return single(errorMessage(new GatewayError('params', text), request.id))
}

function refOf(request: Message): { readonly type?: unknown; readonly name?: unknown; readonly uri?: unknown } {
  const text = textParam(request, 'ref')
  const ref: unknown = text === undefined ? undefined : JSON.parse(text)
  return typeof ref === 'object' && ref !== null ? ref : {}
}

/** Who lists the template, word for word. */
function listing(union: Union, uri: string, live: Live): Member | undefined {
  const entries = union.view(live).entries(kinds.templates)
  return union.members.find(({ resources }, i) => entries[i]!.list?.byId.has(uri) === true && resources.allows(uri))
}

function withRefName(request: Message, name: string): Message {
  const params = request.scanned.params!
  const ref = params.spans[2 * params.keys.indexOf('ref')]!
  return splice(request, { ...find(request.source, ref, ['name'])!, text: JSON.stringify(name) })
}

const nothing = ({ id }: Message): Message => makeResult(id!, { completion: { values: [], total: 0, hasMore: false } })
