/**
 * The config changes while the gateway runs: what runs from the new one is built beside the old, takes over what did not
 * change, and is put in its place at once; what is not served any more is left to finish (C2, LIF-03).
 */
import type { Backend } from '../backends/backend.ts'
import type { BackendConfig, Config } from '../config/config.ts'
import { type ConfigDiff, diff, isEmpty, withoutRestart } from '../config/diff.ts'
import { GatewayError } from '../errors.ts'
import type { Channels } from '../gateway/channel.ts'
import type { Route } from '../gateway/route.ts'
import type { Links } from '../links/links.ts'
import type { Live, Sessions } from '../sessions/lifecycle.ts'
import { facts } from '../telemetry/events.ts'
import { type Generation, generate, type Makers } from './generation.ts'
import type { Outcomes } from './outcomes.ts'
import type { Retiring } from './retiring.ts'
import type { Settings } from './settings.ts'
import { tellChanged, tellRefused, tellRestart, tellUnchanged } from './tell.ts'

/** What a reload did. */
export interface ReloadReport extends ConfigDiff {
  readonly outcome: 'applied' | 'unchanged'
}

export interface ReloadParts {
  readonly makers: Makers
  readonly settings: Settings
  readonly outcomes: Outcomes
  readonly sessions: Pick<Sessions, 'locals'>
  readonly links: Pick<Links, 'succeed' | 'get'>
  readonly channels: Pick<Channels, 'isOpen'>
  /** Tells these sessions, all of one route, what became of its lists. */
  readonly tell: (lives: readonly Live[], path: string, previous: Generation, next: Generation) => Promise<void>
  readonly retiring: Pick<Retiring, 'add'>
  /** Called in the moment of the swap, for whoever keeps something by backend or route. */
  readonly swapped: (next: Generation, previous: Generation) => void
}

/** Links opened at once. */
const atOnce = 32

export class Generations {
  #current: Generation
  #parts: ReloadParts | undefined
  #reloading: Promise<unknown> = Promise.resolve()
  #closed = false

  constructor(first: Generation) {
    this.#current = first
  }

  get current(): Generation {
    return this.#current
  }

  /** The route at a path, at this moment. */
  readonly find = (path: string): Route | undefined => this.#current.routes.get(path)

  /** The rest of the gateway is there. */
  begin(parts: ReloadParts): void {
    this.#parts = parts
  }

  /** No reload any more: what is being built is given up when it is there. */
  close(): void {
    this.#closed = true
  }

  /**
   * One at a time, in the order of the calls. Rejects when the config cannot be had, with its error, or when what it asks
   * for cannot be made (GatewayError): what runs goes on unchanged then.
   */
  reload(config: Config | Promise<Config>): Promise<ReloadReport> {
    const reloading = this.#reloading.then(async () => this.#reload(await config))
    this.#reloading = reloading.catch(error => this.#refused(error))
    // Its turn may come after it failed.
    if (config instanceof Promise) config.catch(() => {})
    return reloading
  }

  #refused(error: unknown): void {
    if (this.#closed) return
    const reason = error instanceof Error ? error.message : String(error)
    this.#parts?.outcomes.add('refused', reason)
    tellRefused(reason)
  }

  async #reload(config: Config): Promise<ReloadReport> {
    const parts = this.#parts
    if (parts === undefined || this.#closed) throw new GatewayError('shutdown', 'the gateway is shutting down')
    const previous = this.#current
    const changes = diff(previous.config, config)
    const next = withoutRestart(previous.config, config)
    if (isEmpty(changes)) {
      parts.outcomes.add('unchanged')
      if (changes.restart.length === 0) tellUnchanged()
      tellRestart(changes.restart, parts.outcomes)
      return { outcome: 'unchanged', ...changes }
    }
    const generation = await generate(next, parts.makers, previous, changes)
    if (this.#closed) {
      await discard(generation, previous)
      throw new GatewayError('shutdown', 'the gateway is shutting down')
    }
    const lives = this.#swap(generation, changes, parts)
    parts.outcomes.add('applied')
    tellChanged(changes)
    tellRestart(changes.restart, parts.outcomes)
    for (const [path, those] of Map.groupBy(lives, live => live.record.route)) {
      parts.tell(those, path, previous, generation).catch((error: unknown) => {
        facts.notice.publish({ level: 'error', text: 'a fault of the gateway: list_changed was not told', error })
      })
    }
    void wake(lives, new Set(changes.backends.changed.map(name => generation.backends.get(name)!)), generation, parts)
    parts.retiring.add([...previous.backends.values()].filter(backend => !isServed(backend, generation)))
    return { outcome: 'applied', ...changes }
  }

  /** In one step: before it everything is as it was, after it nothing is. */
  #swap(next: Generation, changes: ConfigDiff, parts: ReloadParts): readonly Live[] {
    const previous = this.#current
    const touched = new Set([...changes.routes.changed, ...changes.routes.added])
    const lives = [...parts.sessions.locals()].filter(live => touched.has(live.record.route))
    this.#current = next
    for (const name of changes.backends.tuned) {
      parts.makers.tune(next.backends.get(name)!, named(previous.config, name), named(next.config, name))
    }
    for (const name of changes.backends.changed) {
      for (const live of lives) parts.links.succeed(live, previous.backends.get(name)!, next.backends.get(name)!)
    }
    for (const backend of previous.backends.values()) if (!isServed(backend, next)) backend.tune({ retired: true })
    parts.settings.apply(next.config)
    parts.swapped(next, previous)
    return lives
  }
}

/** Whoever has a stream open, or subscribed, waits for news without a call that would open the new link. Never rejects. */
async function wake(
  lives: readonly Live[],
  successors: ReadonlySet<Backend>,
  generation: Generation,
  parts: ReloadParts
) {
  const { links, channels } = parts
  const waiting = lives.flatMap(live => {
    if (live.record.subscriptions.length === 0 && !channels.isOpen(live)) return []
    const served = servedAt(generation.routes.get(live.record.route))
    return served.filter(backend => successors.has(backend)).map(backend => ({ live, backend }))
  })
  for (let i = 0; i < waiting.length; i += atOnce) {
    const opening = waiting.slice(i, i + atOnce).map(({ live, backend }) => links.get(live, backend))
    await Promise.allSettled(opening)
  }
}

/** What was built and is not wanted any more. */
async function discard(generation: Generation, previous: Generation): Promise<void> {
  const kept = new Set(previous.backends.values())
  await Promise.all([...generation.backends.values()].map(backend => (kept.has(backend) ? undefined : backend.close())))
}

const named = ({ backends }: Config, name: string): BackendConfig => backends.find(backend => backend.name === name)!

const isServed = (backend: Backend, { backends }: Generation): boolean => backends.get(backend.name) === backend

/** The backends of a route. */
export const servedAt = (route: Route | undefined): readonly Backend[] => route?.backends ?? []
