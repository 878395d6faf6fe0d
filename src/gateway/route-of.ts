/** What a config says of a route, as the route that serves it. */
import { hash } from 'node:crypto'
import type { Backend } from '../backends/backend.ts'
import type { BackendConfig, Config, RouteConfig } from '../config/config.ts'
import { allVersions } from '../protocol/version.ts'
import type { Lists } from './lists.ts'
import type { Route } from './route.ts'
import { everything, selectNames, selectUris } from './selection.ts'
import { type Member, Union } from './union.ts'

/** One backend that is served as it is answers for itself; everything else is a union. */
export function routeOf(
  route: RouteConfig,
  config: Config,
  backends: ReadonlyMap<string, Backend>,
  lists: Lists
): Route {
  const configs = route.backends.map(name => config.backends.find(backend => backend.name === name)!)
  const members = configs.map(backend => memberOf(backend, backends.get(backend.name)!))
  const base = {
    path: route.path,
    versions: allVersions.filter(version => route.protocol.versions.includes(version)),
    backends: members.map(({ backend }) => backend)
  }
  const { prefix: mode, separator } = route
  if (members.length === 1 && mode !== 'always' && isPlain(members[0]!)) {
    return { ...base, backend: members[0]!.backend, union: undefined }
  }
  const options = {
    path: route.path,
    members,
    naming: { mode, separator },
    onError: route.onError,
    initTimeoutMs: route.initTimeout,
    listTimeoutMs: route.listTimeout,
    listTtlMs: route.listTtl,
    page: route.page,
    generation: generationOf(route, configs)
  }
  return { ...base, backend: undefined, union: new Union(options, lists) }
}

const memberOf = (config: BackendConfig, backend: Backend): Member => ({
  backend,
  prefix: config.prefix ?? config.name,
  uriPrefix: config.uriPrefix,
  extensions: config.extensions,
  tools: selectNames(config.tools),
  prompts: selectNames(config.prompts),
  resources: selectUris(config.resources)
})

const isPlain = ({ tools, prompts, resources }: Member): boolean =>
  tools === everything && prompts === everything && resources === everything

/** The same on every instance that runs the same config. */
function generationOf(route: RouteConfig, configs: readonly BackendConfig[]): string {
  const shape = configs.map(({ name, prefix, tools, prompts, resources }) => ({
    name,
    prefix,
    tools,
    prompts,
    resources
  }))
  return hash('sha256', JSON.stringify([route.path, route.prefix, route.separator, shape]), 'base64url').slice(0, 12)
}
