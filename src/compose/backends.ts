/** The kinds of backend, and what is kept of each backend whatever config runs. */
import type { Backend } from '../backends/backend.ts'
import { type BackendLimits, Gates } from '../backends/gates.ts'
import { HttpBackend } from '../backends/http/backend.ts'
import { createModuleBackend } from '../backends/module/backend.ts'
import { createWorkerBackend } from '../backends/module/worker.ts'
import { createSseBackend } from '../backends/sse/backend.ts'
import { createStdioBackend } from '../backends/stdio/backend.ts'
import type { BackendConfig, Config } from '../config/config.ts'
import { ConfiguredHints } from '../gateway/configured-hints.ts'
import { Known } from '../gateway/known.ts'
import { Limits } from '../gateway/limits.ts'
import { Lists } from '../gateway/lists.ts'
import { routeOf } from '../gateway/route-of.ts'
import { self } from '../gateway/self.ts'
import type { Makers } from '../generations/generation.ts'

/** What serves the backends of every generation. */
export interface Served {
  readonly makers: Makers
  readonly limits: Limits
  readonly gates: Gates
  readonly known: Known
  readonly hints: ConfiguredHints
  readonly lists: Lists
}

export function serveBackends(): Served {
  const limits = new Limits()
  const known = new Known()
  const gates = new Gates()
  const hints = new ConfiguredHints()
  const lists = new Lists({ known, gates, hints, timeoutMs: (backend, method) => limits.of(backend, method).timeout })
  const makers: Makers = {
    async backend(given, whole, again) {
      const backend = await createBackend(given, whole, again)
      limits.set(backend, given)
      gates.set(backend, gateLimitsOf(given))
      hints.set(backend, given.hints)
      return backend
    },
    tune(backend, _before, after) {
      limits.set(backend, after)
      gates.set(backend, gateLimitsOf(after))
      hints.set(backend, after.hints)
      backend.tune(after)
    },
    route: (route, whole, backends) => routeOf(route, whole, backends, lists)
  }
  return { makers, limits, gates, known, hints, lists }
}

const gateLimitsOf = ({ kind, calls, queue, queueTime, breaker }: BackendConfig): BackendLimits => {
  return { calls, queue, queueTime, breaker, restarts: kind === 'stdio' }
}

function createBackend(backend: BackendConfig, { server }: Config, fresh: boolean): Promise<Backend> | Backend {
  const limits = { upstream: server.limits.upstream, depth: server.limits.depth }
  switch (backend.kind) {
    case 'http':
      return new HttpBackend({ ...backend, limits, info: self.info })
    case 'sse':
      return createSseBackend({ ...backend, limits })
    case 'stdio':
      return createStdioBackend({ ...backend, limits, info: self.info })
    case 'module':
      if (backend.worker) return createWorkerBackend({ ...backend, limits })
      return createModuleBackend({ ...backend, limits, fresh })
  }
}
