/** Which lists a route shows otherwise after a change of the config. Pure. */
import { isDeepStrictEqual } from 'node:util'
import type { BackendConfig, Config } from './config.ts'
import { isAnother } from './diff.ts'

/** Lists by the capability that they belong to: templates are of `resources`. */
export type ListCapability = 'tools' | 'prompts' | 'resources'

/** The backends, by name, whose part in each list is another one than before: those that left the route among them. */
export type TouchedLists = Readonly<Record<ListCapability, ReadonlySet<string>>>

/** What the backends list is not known here: of two that are the same the lists are. */
export function touchedLists(path: string, before: Config, after: Config): TouchedLists {
  const was = before.routes.find(route => route.path === path)
  const is = after.routes.find(route => route.path === path)
  const all = new Set([...(was?.backends ?? []), ...(is?.backends ?? [])])
  if (was === undefined || is === undefined) return { tools: all, prompts: all, resources: all }
  const stays = ({ backends }: typeof was): string[] =>
    backends.filter(name => was.backends.includes(name) && is.backends.includes(name))
  const moved = !isDeepStrictEqual(stays(was), stays(is))
  const renamed = was.prefix !== is.prefix || was.separator !== is.separator
  const touched = (capability: ListCapability): ReadonlySet<string> => {
    const hasNames = capability !== 'resources'
    if (moved || (renamed && hasNames)) return all
    const isTouched = (name: string): boolean => {
      if (!was.backends.includes(name) || !is.backends.includes(name)) return true
      const [one, other] = [named(before, name), named(after, name)]
      if (isAnother(one, other) || !isDeepStrictEqual(one[capability], other[capability])) return true
      return hasNames && one.prefix !== other.prefix
    }
    return new Set([...all].filter(isTouched))
  }
  return { tools: touched('tools'), prompts: touched('prompts'), resources: touched('resources') }
}

const named = ({ backends }: Config, name: string): BackendConfig => backends.find(backend => backend.name === name)!
