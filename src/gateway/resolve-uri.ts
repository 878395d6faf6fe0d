/** Whose a URI is: of the backend that lists it, else of one whose template can make it, else of the one that linked to it, else of the one it is configured for. */

import type { Backend } from '../backends/backend.ts'
import { GatewayError } from '../errors.ts'
import { parseTemplate, type UriTemplate } from '../protocol/uri-template.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { List } from './list-fetch.ts'
import { type Kind, kinds } from './list-items.ts'
import { isShowable } from './showable.ts'
import type { Member, Union } from './union.ts'
import type { View } from './view.ts'

/** Of several the first in the order of the config. `linked`: who gave a link to it. Rejects with -32002 for a URI of nobody. */
export function resolveUri(union: Union, uri: string, live: Live, linked?: Backend): Member | Promise<Member> {
  if (!isShowable(uri)) return Promise.reject(notFound(uri))
  const view = union.view(live)
  return firstOf(union, view, kinds.resources, uri) ?? slowly(union, view, uri, live, linked)
}

async function slowly(union: Union, view: View, uri: string, live: Live, linked?: Backend): Promise<Member> {
  const { members } = union
  // Side by side: what both wait for has its time once.
  void view.read(kinds.templates, live)
  for (const kind of [kinds.resources, kinds.templates]) {
    const found = (): Member | undefined => firstOf(union, view, kind, uri)
    const known = found() ?? (await view.readUntil(kind, live, () => found() !== undefined).then(found))
    const last = known ?? anyOf(members, view, kind, uri)
    if (last !== undefined) return last
  }
  const giver = members.find(({ backend, resources }) => backend === linked && resources.allows(uri))
  if (giver !== undefined) return giver
  // The longest prefix says most.
  const [configured] = members
    .filter(({ uriPrefix, resources }) => isUnder(uri, uriPrefix) && resources.allows(uri))
    .toSorted((one, other) => other.uriPrefix!.length - one.uriPrefix!.length)
  if (configured !== undefined) return configured
  const able = members.filter(({ backend }) => view.serves(backend, 'resources') !== false)
  // The only one that has resources knows best which.
  if (able.length === 1 && able[0]!.resources.allows(uri)) return able[0]!
  const failure = union.options.onError === 'fail' ? view.failure(kinds.resources) : undefined
  throw failure ?? notFound(uri)
}

const isUnder = (uri: string, prefix: string | undefined): boolean => prefix !== undefined && uri.startsWith(prefix)

/** The first that has it, unless one before it may still turn out to have it. */
function firstOf({ members }: Union, view: View, kind: Kind, uri: string): Member | undefined {
  const entries = view.entries(kind)
  for (let i = 0; i < members.length; i++) {
    const { list } = entries[i]!
    if (list === undefined) return undefined
    if (has(list, kind, uri, members[i]!)) return members[i]
  }
  return undefined
}

/** The first of those that are known to have it. */
const anyOf = (members: readonly Member[], view: View, kind: Kind, uri: string): Member | undefined =>
  members.find((member, i) => {
    const { list } = view.entries(kind)[i]!
    return list !== undefined && has(list, kind, uri, member)
  })

function has(list: List, kind: Kind, uri: string, { resources }: Member): boolean {
  if (kind === kinds.resources) return list.byId.has(uri) && resources.allows(uri)
  return (
    matchersOf(list).some(({ template, match }) => match(uri) && resources.allows(template)) && resources.allows(uri)
  )
}

interface Matcher {
  readonly template: string
  readonly match: (uri: string) => boolean
}

const matchers = new WeakMap<List, readonly Matcher[]>()

function matchersOf(list: List): readonly Matcher[] {
  let made = matchers.get(list)
  if (made === undefined) {
    made = list.items.slice(0, maxTemplates).map(({ id }) => matcherOf(id))
    matchers.set(list, made)
  }
  return made
}

/** Templates of one backend that are looked at. */
const maxTemplates = 1_000

/** One that is not understood is known by how it begins. */
function matcherOf(template: string): Matcher {
  const open = template.indexOf('{')
  const start = open === -1 ? template : template.slice(0, open)
  let parsed: UriTemplate | undefined
  try {
    parsed = parseTemplate(template)
  } catch {
    parsed = undefined
  }
  return {
    template,
    match: uri => uri.startsWith(start) && (parsed === undefined ? start !== '' : parsed.match(uri) !== undefined)
  }
}

const notFound = (uri: string): GatewayError =>
  new GatewayError('params', 'resource not found', { rpcCode: -32002, data: { uri } })
