/** What of a config is right and still may surprise. */
import { type BackendConfig, type Config, maxBackends, type RouteConfig, route } from './config.ts'

/** Whether the backend is served as it is, where it is alone: nobody asked for other names, or for less of it. */
const asItIs = ({ tools, prompts, resources }: BackendConfig): boolean =>
  [tools, prompts, resources].every(
    choice =>
      choice === undefined ||
      (choice.allow === undefined && Object.values(choice).every(part => Object.keys(part ?? {}).length === 0))
  )

/** What only says something where several backends are served as one, in a route that serves one as it is. */
const idleIn = (given: RouteConfig): readonly string[] => {
  const usual = route.parse({ backends: given.backends })
  const keys = ['separator', 'onError', 'initTimeout', 'listTimeout', 'listTtl', 'page'] as const
  return keys.filter(key => given[key] !== usual[key])
}

/** For people: the log, and `causeway check`. */
export const notes = ({ backends, routes }: Config): readonly string[] => {
  const served = new Set(routes.flatMap(route => route.backends))
  const derived = routes.every(({ path, backends: [name] }) => path === `/mcp/${name}`)
  const plain = new Set(backends.filter(asItIs).map(({ name }) => name))
  const alone = routes.filter(({ backends: [name, second], prefix }) => {
    return second === undefined && prefix !== 'always' && plain.has(name!)
  })
  const merged = new Set(routes.filter(route => !alone.includes(route)).flatMap(({ backends }) => backends))
  const only = 'says something only where several backends are served'
  return [
    ...(derived && routes.length > maxBackends
      ? [`/mcp is not served: more than ${maxBackends} backends need routes that say what is served where`]
      : []),
    ...alone.flatMap(route => idleIn(route).map(key => `${key} of route ${route.path} ${only}`)),
    ...backends.flatMap(backend => {
      const { name, prefix, uriPrefix, extensions } = backend
      if (!served.has(name)) return [`backend ${name} is behind no route`]
      if (merged.has(name)) return []
      const idle = {
        prefix: prefix !== undefined,
        uriPrefix: uriPrefix !== undefined,
        extensions: extensions.length > 0
      }
      return Object.entries(idle).flatMap(([key, given]) => (given ? [`${key} of backend ${name} ${only}`] : []))
    })
  ]
}
