/** Requests of the modern era: who stands for them towards backends, and where they wait for their clients. */
import type { Backend } from '../backends/backend.ts'
import { OwnStates } from '../bridge/own-states.ts'
import { Parked } from '../bridge/parked.ts'
import type { Context } from '../gateway/context.ts'
import { Desks } from '../gateway/desks.ts'
import { ModernHandles } from '../gateway/modern-handles.ts'
import { Seats } from '../gateway/seats.ts'
import { self } from '../gateway/self.ts'
import { TaskKeeping } from '../gateway/task-keeping.ts'
import { Sealer } from '../protocol/seal.ts'
import { isVersion } from '../protocol/version.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Instance } from './instance.ts'
import type { UpstreamSide } from './upstream.ts'

export type ModernEdge = Pick<
  Context,
  'seats' | 'desks' | 'parked' | 'ownStates' | 'taskHandles' | 'taskKeeping' | 'keepsTasks' | 'isPipe'
>

/** Kinds whose conversations are one pipe, and how many of them one backend may have where each has one call at a time. */
const pipes: ReadonlySet<string | undefined> = new Set(['stdio', 'sse'])
const maxDesks = 32

export function wireModern(
  { config, settings, sessions, presence, countdowns, known, configOf }: Instance,
  { links }: UpstreamSide
): ModernEdge {
  const seats: Seats = new Seats(
    settings.follow(
      {
        sessions,
        self,
        release: (live: Live) => links.letGo(live),
        // Servers of the modern era keep nothing between two calls, so that there is nothing to share.
        pool: (backend: Backend) =>
          configOf(backend)?.pool ?? (known.get(backend)?.discovered === undefined ? undefined : 'principal'),
        swept: (before: number) => desks.sweep(before)
      },
      ({ sessions: { idle } }) => ({ idleMs: idle })
    )
  )
  const desks = new Desks({
    seats,
    limits(backend) {
      const found = configOf(backend)
      // One process more reads the lists.
      const processes = found?.kind === 'stdio' ? found.maxProcesses - 1 : maxDesks
      return {
        desks: Math.max(1, Math.min(maxDesks, processes)),
        queue: found?.queue ?? 0,
        queueTime: found?.queueTime ?? 0
      }
    }
  })
  const sealer = new Sealer(config.secrets.key ? Buffer.from(config.secrets.key, 'base64url') : undefined)
  const ownStates = new OwnStates(settings.follow({ sealer }, ({ input: { timeout } }) => ({ ms: timeout })))
  const parked = new Parked(
    settings.follow(
      {
        sealer,
        owner: presence.id,
        hold: seats.hold,
        drop: seats.drop,
        spoil: (live: Live) => desks.spoil(live)
      },
      ({ input: { timeout, rounds } }) => ({ timeout: countdowns.of(timeout), rounds })
    )
  )
  const isPipe = (backend: Backend): boolean => {
    const version = known.get(backend)?.version
    return pipes.has(configOf(backend)?.kind) && (version === undefined || isVersion(version))
  }
  const keepsTasks = (backend: Backend): boolean => {
    const found = configOf(backend)
    return pipes.has(found?.kind) && found?.pool !== 'call' && known.get(backend)?.discovered !== undefined
  }
  return {
    seats,
    desks,
    parked,
    ownStates,
    taskHandles: new ModernHandles(sealer),
    taskKeeping: new TaskKeeping(seats),
    keepsTasks,
    isPipe
  }
}
