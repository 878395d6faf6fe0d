/** What an instance has before anybody speaks to it: what it keeps, what runs on it, the settings that follow the config. */
import type { Backend } from '../backends/backend.ts'
import type { BackendConfig, Config } from '../config/config.ts'
import { Countdowns } from '../exchanges/countdown.ts'
import { InFlight } from '../exchanges/in-flight.ts'
import type { Generation } from '../generations/generation.ts'
import { Outcomes } from '../generations/outcomes.ts'
import { Generations } from '../generations/reload.ts'
import { Settings } from '../generations/settings.ts'
import { Pressure } from '../http/pressure.ts'
import { MemoryPresence } from '../instances/memory.ts'
import type { Presence } from '../instances/presence.ts'
import { digest } from '../redis/store.ts'
import { Sessions } from '../sessions/lifecycle.ts'
import { MemorySessionStore } from '../sessions/memory.ts'
import { MemoryStreamLog } from '../streams/memory.ts'
import { EventLoop } from '../telemetry/event-loop.ts'
import type { createLogger } from '../telemetry/logger.ts'
import { Vitals } from '../telemetry/vitals.ts'
import type { Served } from './backends.ts'
import type { Parts, Shared } from './parts.ts'
import type { Stores } from './stores.ts'

export interface Instance extends Served {
  /** As read at the start. Whatever follows the config is in `settings`, what is served in `generations`. */
  readonly config: Config
  readonly settings: Settings
  readonly generations: Generations
  readonly outcomes: Outcomes
  readonly logger: ReturnType<typeof createLogger>
  readonly presence: Presence
  /** What this instance has in common with others, and what its own is called in ids. */
  readonly shared: (Shared & { readonly name: string }) | undefined
  readonly log: NonNullable<Parts['log']>
  readonly sessions: Sessions
  readonly inFlight: InFlight
  readonly countdowns: Countdowns
  readonly eventLoop: EventLoop
  readonly pressure: Pressure
  /** As the config has it at this moment; undefined: it is there no more. */
  readonly configOf: (backend: Pick<Backend, 'name'>) => BackendConfig | undefined
  /** Whether the store answers; undefined for one that cannot fail. */
  readonly storeUp: (() => boolean) | undefined
  state: 'starting' | 'ready' | 'leaving' | 'draining'
  /** What the embedding program did not bring is closed. */
  closeStores(): Promise<void>
}

export function createInstance(
  first: Generation,
  served: Served,
  logger: ReturnType<typeof createLogger>,
  given: Pick<Parts, 'log' | 'store' | 'shared'>,
  stores?: Stores
): Instance {
  const { config } = first
  const settings = new Settings(config)
  const generations = new Generations(first)
  const shared = stores?.shared ?? given.shared
  const presence = shared?.presence ?? new MemoryPresence()
  const bounds = settings.follow({}, ({ streams: { events, bytes, total, retain } }) => ({
    events,
    bytes,
    total,
    retainMs: retain
  }))
  const log = given.log ?? stores?.log(bounds) ?? new MemoryStreamLog(bounds, presence.id)
  const store = given.store ?? stores?.store ?? new MemorySessionStore()
  const sessions = new Sessions(
    settings.follow({ store }, ({ sessions: { idle, max, perAddress } }) => ({
      idleMs: idle,
      caps: { total: max, perGroup: perAddress }
    }))
  )
  const eventLoop = new EventLoop()
  return {
    ...served,
    config,
    settings,
    generations,
    outcomes: new Outcomes(),
    logger,
    presence,
    shared: shared && { ...shared, name: nameOf(presence) },
    storeUp: stores?.up,
    log,
    sessions,
    inFlight: new InFlight(),
    countdowns: new Countdowns(),
    eventLoop,
    pressure: new Pressure(new Vitals(eventLoop)),
    configOf: ({ name }) => generations.current.config.backends.find(backend => backend.name === name),
    state: 'starting',
    async closeStores() {
      if (given.log === undefined) await log.close()
      if (given.store === undefined) await store.close()
      if (shared === undefined) await presence.close()
      await stores?.close()
    }
  }
}

/** Short, as it stands in every id that a client is given. */
const nameOf = ({ id }: Presence): string => digest(id).slice(0, 12)
