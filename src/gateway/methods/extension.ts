/**
 * Methods outside the core, where several backends are one server: to the one that advertises the extension which the method
 * or a member of `_meta` names, else to the one that is configured for it, else to nobody.
 */
import { GatewayError } from '../../errors.ts'
import { single } from '../../exchanges/source.ts'
import { errorMessage } from '../../protocol/make.ts'
import type { Message } from '../../protocol/message.ts'
import type { Known } from '../known.ts'
import type { Member, Union } from '../union.ts'
import type { UnionMethod } from './union-call.ts'

export const extension: UnionMethod = ({ request, union, context, note, run }) => {
  const method = request.method!
  if (method.startsWith('notifications/')) {
    return single(errorMessage(new GatewayError('method', 'a notification has no id'), request.id))
  }
  const member = ownerOf(request, union, context.known)
  if (member === undefined) {
    return single(errorMessage(new GatewayError('method', `no backend has the method ${method}`), request.id))
  }
  note.backend = member.backend.name
  return run(member.backend, request)
}

function ownerOf(message: Message, { members }: Union, known: Known): Member | undefined {
  if (members.length === 1) return members[0]
  const names = [message.method!, ...(message.scanned.meta?.keys ?? [])]
  const advertising = members.filter(({ backend }) => {
    const { extensions, experimental } = known.get(backend)?.capabilities ?? {}
    const advertised = [...keysOf(extensions), ...keysOf(experimental)]
    return names.some(name => advertised.some(extension => isOf(name, extension)))
  })
  const configured = members.filter(({ extensions }) => extensions.some(prefix => message.method!.startsWith(prefix)))
  if (advertising.length === 1) return advertising[0]
  return configured.find(member => advertising.length === 0 || advertising.includes(member)) ?? advertising[0]
}

const keysOf = (value: unknown): readonly string[] =>
  typeof value === 'object' && value !== null ? Object.keys(value) : []

/** `a.b/c` and what stands below it. */
const isOf = (name: string, extension: string): boolean =>
  name === extension || name.startsWith(`${extension}/`) || name.startsWith(`${extension}.`)
