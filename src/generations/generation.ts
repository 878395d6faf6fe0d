/** What runs from one config: its backends and its routes. The next one is built beside it, with what did not change. */
import type { Backend } from '../backends/backend.ts'
import type { BackendConfig, Config, RouteConfig } from '../config/config.ts'
import type { Route } from '../gateway/route.ts'

export interface Generation {
  readonly config: Config
  readonly backends: ReadonlyMap<string, Backend>
  /** By path, in the order of the config. */
  readonly routes: ReadonlyMap<string, Route>
}

/** Who knows what a config stands for. */
export interface Makers {
  /** Rejects when it cannot be made at all (a module that does not load). */
  backend(config: BackendConfig, whole: Config): Promise<Backend> | Backend
  /** `backends`: all of the generation. */
  route(config: RouteConfig, whole: Config, backends: ReadonlyMap<string, Backend>): Route
}

/** Rejects with the error of a backend that cannot be made; those that were made are closed then. */
export async function generate(config: Config, makers: Makers): Promise<Generation> {
  const backends = new Map<string, Backend>()
  try {
    for (const backend of config.backends) backends.set(backend.name, await makers.backend(backend, config))
    const routes = new Map(config.routes.map(route => [route.path, makers.route(route, config, backends)]))
    return { config, backends, routes }
  } catch (error) {
    await Promise.all([...backends.values()].map(backend => backend.close()))
    throw error
  }
}
