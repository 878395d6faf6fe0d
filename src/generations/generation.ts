/** What runs from one config: its backends and its routes. The next one is built beside it, with what did not change. */
import type { Backend } from '../backends/backend.ts'
import type { BackendConfig, Config, RouteConfig } from '../config/config.ts'
import type { ConfigDiff } from '../config/diff.ts'
import type { Route } from '../gateway/route.ts'

export interface Generation {
  readonly config: Config
  readonly backends: ReadonlyMap<string, Backend>
  /** By path, in the order of the config. */
  readonly routes: ReadonlyMap<string, Route>
}

/** Who knows what a config stands for. */
export interface Makers {
  /** Rejects when it cannot be made at all (a module that does not load). `again`: something runs already. */
  backend(config: BackendConfig, whole: Config, again: boolean): Promise<Backend> | Backend
  /** The same backend is treated differently from now on. */
  tune(backend: Backend, before: BackendConfig, after: BackendConfig): void
  /** `backends`: all of the generation. */
  route(config: RouteConfig, whole: Config, backends: ReadonlyMap<string, Backend>): Route
}

const nothing: Generation = { config: { backends: [] } as unknown as Config, backends: new Map(), routes: new Map() }

/**
 * Builds what runs from `config`; of what runs already, `from`, it takes over what did not change in between (`diff`).
 * Rejects with the error of a backend that cannot be made; what was made is closed then, and nothing that runs has changed.
 */
export async function generate(
  config: Config,
  makers: Makers,
  from: Generation = nothing,
  diff?: ConfigDiff
): Promise<Generation> {
  const keptBackends = new Set([...(diff?.backends.unchanged ?? []), ...(diff?.backends.tuned ?? [])])
  const keptRoutes = new Set(diff?.routes.unchanged)
  const made: Backend[] = []
  try {
    const backends = new Map<string, Backend>()
    for (const given of config.backends) {
      const { name } = given
      const kept = keptBackends.has(name) ? from.backends.get(name) : undefined
      const backend = kept ?? (await makers.backend(given, config, from !== nothing))
      if (kept === undefined) made.push(backend)
      backends.set(name, backend)
    }
    const routes = new Map<string, Route>()
    for (const given of config.routes) {
      const kept = keptRoutes.has(given.path) ? from.routes.get(given.path) : undefined
      routes.set(given.path, kept ?? makers.route(given, config, backends))
    }
    return { config, backends, routes }
  } catch (error) {
    await Promise.all(made.map(backend => backend.close()))
    throw error
  }
}
