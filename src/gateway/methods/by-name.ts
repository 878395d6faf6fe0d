/** `tools/call` and `prompts/get`: to the backend that has the name, under the name that it has there. */
import { GatewayError } from '../../errors.ts'
import { later } from '../../exchanges/acting.ts'
import { type MessageSource, single } from '../../exchanges/source.ts'
import { withParam } from '../../protocol/edit.ts'
import { errorMessage } from '../../protocol/make.ts'
import { stringParam } from '../../protocol/message.ts'
import type { Kind } from '../list-items.ts'
import { resolveName, type Target } from '../resolve-name.ts'
import type { UnionMethod } from './union-call.ts'

export const byName =
  (kind: Kind): UnionMethod =>
  ({ request, live, union, note, run }) => {
    const name = stringParam(request, 'name')
    if (name === undefined) {
      return single(errorMessage(new GatewayError('params', 'params.name must be a string'), request.id))
    }
    const send = ({ member: { backend }, name: own }: Target): MessageSource => {
      note.backend = backend.name
      return run(backend, own === name ? request : withParam(request, 'name', JSON.stringify(own)))
    }
    const target = resolveName(union, kind, name, live)
    return target instanceof Promise ? later(request.id!, async () => send(await target)) : send(target)
  }
