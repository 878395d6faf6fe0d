/** Whose a name is that clients know, and what its backend calls it: a table decides (MUX-01). */
import { GatewayError } from '../errors.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Kind } from './list-items.ts'
import type { Named } from './names.ts'
import type { Member, Union } from './union.ts'
import type { View } from './view.ts'

export interface Target {
  readonly member: Member
  /** The backend's own name. */
  readonly name: string
}

/**
 * At once where every list is known; else as soon as the lists that are still to come cannot change it, or had their time.
 * Rejects with the GatewayError of a name that nobody has, or whose backend cannot say.
 */
export function resolveName(union: Union, kind: Kind, name: string, live: Live): Target | Promise<Target> {
  const view = union.view(live)
  if (view.complete(kind)) {
    const found = find(union, view, kind, name)
    if (found !== undefined) return found
  }
  return slowly(union, view, kind, name, live)
}

async function slowly(union: Union, view: View, kind: Kind, name: string, live: Live): Promise<Target> {
  const { onError, naming } = union.options
  await view.readUntil(kind, live, () => isDecided(union, view, kind, name, view.awaited(kind)))
  const found = find(union, view, kind, name)
  const unread = view.unread(kind)
  if (found !== undefined && (onError === 'skip' || isDecided(union, view, kind, name, unread))) return found
  const its = unread.find(({ prefix }) => name.startsWith(`${prefix}${naming.separator}`))
  const failure = onError === 'fail' || its !== undefined ? view.failure(kind, its) : undefined
  throw failure ?? new GatewayError('params', `unknown ${kind.name === 'prompts' ? 'prompt' : 'tool'}: ${short(name)}`)
}

function find(union: Union, view: View, kind: Kind, name: string): Target | undefined {
  const found = view.snapshot(kind).table.find(name)
  const member = found && union.member(found.backend)
  const own = member?.[kind.name === 'prompts' ? 'prompts' : 'tools'].own(found!.name)
  return own === undefined ? undefined : { member: member!, name: own }
}

/** Whether the lists of the others, which are not known, cannot say otherwise. */
function isDecided(union: Union, view: View, kind: Kind, name: string, others: readonly Member[]): boolean {
  const { members, options } = union
  const { mode, separator } = options.naming
  const begins = ({ prefix }: Member): boolean => name.startsWith(`${prefix}${separator}`)
  // Anybody may have a name without a prefix: no table is made to find that out.
  if (others.length > 0 && mode !== 'never' && (others.some(begins) || !members.some(begins))) return false
  const found: Named | undefined = view.snapshot(kind).table.find(name)
  if (found === undefined) return false
  const own = union.member(found.backend)!
  if (mode === 'never') return others.every(member => members.indexOf(member) > members.indexOf(own))
  return others.length === 0 || (name !== found.name && begins(own))
}

/** In messages. */
const short = (name: string): string => (name.length > 80 ? `${name.slice(0, 80)}...` : name)
