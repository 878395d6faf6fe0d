/** From a config to a wired, closable gateway. The only file that names implementations. */
import { anonymousAuthenticator } from './auth/anonymous.ts'
import type { Authenticator } from './auth/principal.ts'
import type { Backend, Link, Upstream } from './backends/backend.ts'
import { type BackendLimits, Gates } from './backends/gates.ts'
import { HttpBackend } from './backends/http/backend.ts'
import { createModuleBackend, type ModuleBackend } from './backends/module/backend.ts'
import { createWorkerBackend } from './backends/module/worker.ts'
import { createSseBackend } from './backends/sse/backend.ts'
import { createStdioBackend } from './backends/stdio/backend.ts'
import type { Asking } from './bridge/interaction.ts'
import { type BridgeOptions, LegacyOverModern } from './bridge/legacy-over-modern.ts'
import { Listening } from './bridge/listening.ts'
import { ModernOverLegacy } from './bridge/modern-over-legacy.ts'
import { forOlderClient } from './bridge/older-client.ts'
import { sampledForOlderServer } from './bridge/older-sampling.ts'
import { Parked } from './bridge/parked.ts'
import type { BackendConfig, Config } from './config/config.ts'
import { secretsOf } from './config/secrets.ts'
import { GatewayError } from './errors.ts'
import { Asked, type AskedOptions } from './exchanges/asked.ts'
import { Countdowns } from './exchanges/countdown.ts'
import { InFlight } from './exchanges/in-flight.ts'
import type { RunningContext } from './exchanges/running.ts'
import { admit, ofNobody } from './gateway/admit.ts'
import { backendStates } from './gateway/backend-states.ts'
import { broadcast } from './gateway/broadcast.ts'
import { Channels } from './gateway/channel.ts'
import { clientBlock } from './gateway/client-block.ts'
import type { Context } from './gateway/context.ts'
import { Desks } from './gateway/desks.ts'
import { Dispatch } from './gateway/dispatch.ts'
import { ended } from './gateway/ended.ts'
import { Health } from './gateway/health.ts'
import { Known } from './gateway/known.ts'
import { Limits } from './gateway/limits.ts'
import { tellLevelLater, wantLevel } from './gateway/link-level.ts'
import { Linked } from './gateway/linked.ts'
import { listening } from './gateway/listening.ts'
import { Listens } from './gateway/listens.ts'
import { Lists } from './gateway/lists.ts'
import { opened } from './gateway/opened.ts'
import { Posts } from './gateway/posts.ts'
import { cannotBeReached, Probes, watched } from './gateway/probes.ts'
import { isFor, receive } from './gateway/receive.ts'
import { refusal } from './gateway/refusal.ts'
import { restore } from './gateway/restore.ts'
import { routeOf } from './gateway/route-of.ts'
import { Seats } from './gateway/seats.ts'
import { self, version } from './gateway/self.ts'
import { taskView } from './gateway/task-view.ts'
import { Turns } from './gateway/turns.ts'
import { Unions } from './gateway/unions.ts'
import { type Generation, generate, type Makers } from './generations/generation.ts'
import { greet } from './generations/greeting.ts'
import { Outcomes } from './generations/outcomes.ts'
import { Generations, type ReloadReport, servedAt } from './generations/reload.ts'
import { Retiring } from './generations/retiring.ts'
import { Settings } from './generations/settings.ts'
import { drain } from './generations/shutdown.ts'
import type { Handler } from './handlers/handler.ts'
import { localUrl } from './http/addresses.ts'
import { createAdmin } from './http/admin.ts'
import { serverOptionsOf } from './http/options.ts'
import { Pressure } from './http/pressure.ts'
import { createServer } from './http/server.ts'
import { MemoryPresence } from './instances/memory.ts'
import { Links, type LinksOptions } from './links/links.ts'
import { makeNotification } from './protocol/make.ts'
import type { Message } from './protocol/message.ts'
import { Sealer } from './protocol/seal.ts'
import { isVersion } from './protocol/version.ts'
import { type Live, Sessions } from './sessions/lifecycle.ts'
import { MemorySessionStore } from './sessions/memory.ts'
import type { SessionStore } from './sessions/session.ts'
import { MemoryStreamLog } from './streams/memory.ts'
import type { StreamLog } from './streams/stream-log.ts'
import { createLogger } from './telemetry/logger.ts'
import { createMetrics } from './telemetry/metrics.ts'

/** A notification as authors write it. */
export interface Notification {
  /** Begins with `notifications/`. */
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

export interface Gateway {
  /** Listens for clients and for operators. Rejects when an address cannot be had. */
  listen(): Promise<void>
  /** URL of a route once it listens; of the first one when none is named. */
  url(route?: string): string
  /** URL of the admin listener; undefined when it is off or does not listen yet. */
  readonly adminUrl: string | undefined
  /**
   * Takes tools, resources and prompts by code, before and after `listen`; they win over what a module backend found, and
   * its sessions are told. Throws a TypeError for what is no module backend, or runs in a worker.
   */
  handler(backend: string): Handler
  /** Once to every session of the route (R34). Resolves to their number. Rejects with GatewayError `path` for an unknown route. */
  broadcast(route: string, notification: Notification): Promise<number>
  /**
   * Goes on with another config, one reload at a time: what did not change is carried over, with its processes and sessions;
   * what is not served any more finishes its calls. Resolves to what changed, and what needs a restart. Rejects when the
   * config cannot be had or what it asks for cannot be made: the one before goes on.
   */
  reload(config: Config | Promise<Config>): Promise<ReloadReport>
  /** Drains and ends everything. `deadline`: milliseconds in place of `server.shutdown.deadline`. Idempotent. */
  close(options?: { readonly deadline?: number }): Promise<void>
}

/** What an embedding program brings in place of the gateway's own. Whoever brings a store closes it. */
export interface Parts {
  readonly authenticator?: Authenticator
  readonly store?: SessionStore
  readonly log?: StreamLog & Pick<MemoryStreamLog, 'stats'>
}

/** Rejects with a GatewayError when a backend cannot be made at all (a module that does not load). */
export async function createGateway(config: Config, parts: Parts = {}): Promise<Gateway> {
  const logger = createLogger(config.logging, { secrets: secretsOf(config) })
  const limits = new Limits()
  const known = new Known()
  const gates = new Gates()
  const lists = new Lists({ known, gates, timeoutMs: (backend, method) => limits.of(backend, method).timeout })
  const makers: Makers = {
    async backend(given, whole, again) {
      const backend = await createBackend(given, whole, again)
      limits.set(backend, given)
      gates.set(backend, gateLimitsOf(given))
      return backend
    },
    tune(backend, _before, after) {
      limits.set(backend, after)
      gates.set(backend, gateLimitsOf(after))
      backend.tune(after)
    },
    route: (route, whole, backends) => routeOf(route, whole, backends, lists)
  }
  try {
    return await wire(await generate(config, makers), { makers, limits, gates, known, lists }, logger, parts)
  } catch (error) {
    await logger.close()
    throw error
  }
}

const gateLimitsOf = ({ kind, calls, queue, queueTime, breaker }: BackendConfig): BackendLimits => {
  return { calls, queue, queueTime, breaker, restarts: kind === 'stdio' }
}

/** What serves the backends of every generation. */
interface Served {
  readonly makers: Makers
  readonly limits: Limits
  readonly gates: Gates
  readonly known: Known
  readonly lists: Lists
}

async function wire(
  first: Generation,
  { makers, limits: callLimits, gates, known, lists }: Served,
  logger: ReturnType<typeof createLogger>,
  { authenticator = anonymousAuthenticator, ...given }: Parts
): Promise<Gateway> {
  // What was read at the start; whatever follows the config is in `settings`, what is served in `generations`.
  const { config } = first
  const settings = new Settings(config)
  const generations = new Generations(first)
  const presence = new MemoryPresence()
  const bounds = settings.follow({}, ({ streams: { events, bytes, total, retain } }) => ({
    events,
    bytes,
    total,
    retainMs: retain
  }))
  const log = given.log ?? new MemoryStreamLog(bounds, presence.id)
  const store = given.store ?? new MemorySessionStore()
  const sessions = new Sessions(
    settings.follow({ store }, ({ sessions: { idle, max, perAddress } }) => ({
      idleMs: idle,
      caps: { total: max, perGroup: perAddress }
    }))
  )
  const inFlight = new InFlight()
  const health = new Health(first.backends.values(), name => {
    const backend = generations.current.backends.get(name)
    if (backend !== undefined) gates.hint(backend)
  })
  const adaptAnswer: AskedOptions['adapt'] = (answer, method, link, live) => {
    const owned = own(answer, method, link, live)
    return method === 'sampling/createMessage' ? sampledForOlderServer(owned, link.server.version) : owned
  }
  const several = (live: Live): boolean => servedAt(generations.find(live.record.route)).length > 1
  const asked = new Asked(
    settings.follow({ several, adapt: adaptAnswer }, ({ input }) => ({ timeoutMs: input.timeout }))
  )
  const linked = new Linked()
  const tasks = taskView(several, linked)
  const own = (answer: Message, method: string, link: Link, live: Live): Message => {
    const backend = [...links.of(live)].find(one => one.link === link)?.backend
    return backend === undefined ? answer : tasks.answerTo(answer, method, live, backend)
  }
  const turns = new Turns()
  const outside = (live: Live, message: Message): void => {
    if (live.ephemeral) listens.tell(live, message)
    else void channels.post(live, message)
  }
  const received: LinksOptions['receive'] = (message, link, backend, users) =>
    receive(message, link, backend, users, { asked, inFlight, channels, listens, tasks, unions })
  const listenings = new WeakMap<Upstream, Listening>()
  const listeningTo = (upstream: Upstream, backend: string): Listening => {
    const listening = listenings.get(upstream) ?? new Listening(upstream, backend)
    listenings.set(upstream, listening)
    return listening
  }
  const bridging: BridgeOptions = settings.follow(
    { listening: listeningTo, receive: received },
    ({ input: { rounds } }) => ({ rounds })
  )
  const links = new Links({
    sessions,
    self,
    receive: received,
    lost: (link, live) => {
      asked.lost(live, link)
      listens.lost(live)
      if (link instanceof LegacyOverModern) link.retire()
    },
    bridged: (link, live, backend) =>
      link.era === 'modern'
        ? new LegacyOverModern(link, live, backend, bridging)
        : new ModernOverLegacy(link, { live, backend, parked, refusal: refusalOf(backend) }, level =>
            wantLevel(level, live, link, backend, links.users(live, backend), { turns, receive: received })
          ),
    opened: (link, backend, users, restored) => {
      lists.opened(link, backend)
      if (backend.scope === 'session') for (const live of users) retiring.opened(live, backend)
      if (!restored) tellLevelLater(link, backend, users, { turns, receive: received })
    },
    missed(backend, users) {
      lists.invalidate(backend)
      for (const live of users) listens.missed(live)
    },
    reopened: (link, backend, users, told) =>
      restore(link, backend, users, { changed: (...of) => unions.reopened(...of), receive: received, told })
  })
  const probes = new Probes({
    away: backend => lists.down(backend, cannotBeReached(backend)),
    back(backend) {
      gates.hint(backend)
      void unions.back(backend)
    }
  })
  probes.watch(watched(first.routes.values()))
  const unions: Unions = new Unions({
    lists,
    links,
    routes: { find: generations.find, all: () => generations.current.routes.values() },
    sessions: {
      *locals() {
        yield* sessions.locals()
        yield* listens.lives()
      }
    },
    receive: received,
    post: outside,
    isListening: live => live.ephemeral || channels.isOpen(live),
    failed: backend => probes.suspect(backend)
  })
  const changes = (live: Live): Message[] => unions.changes(live)
  const channels: Channels = new Channels(
    settings.follow(
      {
        log,
        asked,
        changes,
        listening: (live: Live, on: boolean) => {
          listening(live, on, links, generations.find(live.record.route))
          if (on) unions.listen(live)
        }
      },
      ({ streams: { retry } }) => ({ retryMs: retry })
    )
  )
  const posts = new Posts(
    log,
    asked,
    settings.follow({}, ({ streams: { retry, closeAfter, behind } }) => ({
      retryMs: retry,
      closeAfterMs: closeAfter,
      behind
    }))
  )
  const configOf = ({ name }: Pick<Backend, 'name'>): BackendConfig | undefined =>
    generations.current.config.backends.find(backend => backend.name === name)
  const seats: Seats = new Seats(
    settings.follow(
      {
        sessions,
        self,
        release: (live: Live) => links.letGo(live),
        pool: (backend: Backend) => configOf(backend)?.pool,
        swept: (before: number) => desks.sweep(before)
      },
      ({ sessions: { idle } }) => ({ idleMs: idle })
    )
  )
  const listens: Listens = new Listens(
    settings.follow(
      { find: generations.find, listen: (live: Live) => unions.listen(live) },
      ({ sessions: { max, perAddress } }) => ({
        caps: { total: max, perGroup: perAddress }
      })
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
  const countdowns = new Countdowns()
  const parked: Parked = new Parked(
    settings.follow(
      {
        sealer: new Sealer(config.secrets.key ? Buffer.from(config.secrets.key, 'base64url') : undefined),
        owner: presence.id,
        hold: seats.hold,
        drop: seats.drop,
        spoil: (live: Live) => desks.spoil(live)
      },
      ({ input: { timeout, rounds } }) => ({ timeout: countdowns.of(timeout), rounds })
    )
  )
  const running: RunningContext = {
    links,
    asked,
    inFlight,
    countdowns,
    limits: callLimits.of,
    gates,
    adapt: (message, { request, live, backend }) => {
      if (message.kind !== 'response') unions.heard(message, backend)
      if (live.modern === true) return message
      const seen = tasks.toClient(message, live, backend, request)
      if (message.kind === 'response') return forOlderClient(seen, request.method!, live.record.client.version)
      return isFor(message, live, backend, unions.of(live)) ? seen : undefined
    },
    admit: (request, { live, streamable, backend }) =>
      tasks.refusal(request, live, backend) ??
      admit(tasks.toClient(request, live, backend), live, backend, streamable || channels.isOpen(live)),
    outside
  }
  const pressure = new Pressure()
  let state: 'starting' | 'ready' | 'leaving' | 'draining' = 'starting'
  const context: Context = settings.follow(
    {
      sessions,
      links,
      asked,
      inFlight,
      channels,
      posts,
      running,
      turns,
      receive: received,
      seats,
      listens,
      desks,
      parked,
      isPipe: (backend: Backend) => {
        const version = known.get(backend)?.version
        return pipes.has(configOf(backend)?.kind) && (version === undefined || isVersion(version))
      },
      known,
      lists,
      linked,
      several,
      tasks,
      maxDepth: config.server.limits.depth,
      self,
      opened,
      draining: () => state === 'draining',
      strained: () => pressure.level !== 'none'
    },
    ({ sessions: { mode }, streams: { response, sseAfter }, protocolVersion: { onMismatch }, server: { limits } }) => ({
      mode,
      response,
      sseAfter: countdowns.of(sseAfter),
      onMismatch,
      maxBatch: limits.batch
    })
  )
  sessions.onClosed((live, reason) => void ended(live, reason, context, log))

  const outcomes = new Outcomes()
  const retiring = new Retiring({
    links,
    inFlight,
    sessions,
    served: path => {
      const route = generations.find(path)
      return route && servedAt(route)
    },
    deadlineMs: () => generations.current.config.server.shutdown.deadline
  })
  settings.on(next => {
    logger.tune(next.logging, secretsOf(next))
    sessions.retime()
  })
  generations.begin({
    makers,
    settings,
    outcomes,
    sessions,
    links,
    channels,
    changes,
    retiring,
    swapped(next, previous) {
      greet(next, path => url(path), previous)
      listens.reloaded()
      health.serve(next.backends.values(), previous.backends.values())
      probes.watch(watched(next.routes.values()), ({ name }) => health.of(name).state === 'down')
    }
  })
  const dispatch = new Dispatch(context)
  const server = await createServer(dispatch, generations, authenticator, pressure, serverOptionsOf(config))
  const states = () => backendStates(generations.current.backends.values(), { health, gates, inFlight, lists })
  const metrics = createMetrics({
    version,
    sessions: () => sessions.count(),
    streams: () => log.stats().streams,
    bufferedBytes: () => log.stats().bytes,
    events: () => log.stats().entries,
    eventsDropped: () => log.stats().dropped,
    draining: () => state === 'leaving' || state === 'draining',
    pressure: () => pressure.level,
    reloads: () => outcomes,
    backends: () => states().map(backend => ({ ...backend, up: backend.state !== 'down' }))
  })
  const announce = async (route: string, notification: Message): Promise<number> => {
    if (generations.find(route) === undefined) throw new GatewayError('path', `there is no route ${route}`)
    return (await broadcast(route, notification, sessions, channels, log)) + listens.broadcast(route, notification)
  }
  const admin =
    config.admin === undefined
      ? undefined
      : await createAdmin(
          {
            ready: () => state === 'ready',
            status: async () => ({
              state,
              pressure: pressure.level,
              version,
              sessions: await sessions.count(),
              streams: server.streams,
              config: outcomes.status,
              backends: states().map(({ rejected: _, ...backend }) => ({
                ...backend,
                kind: configOf(backend)?.kind
              }))
            }),
            metrics: async () => ({ contentType: metrics.contentType, text: await metrics.text() }),
            broadcast: announce
          },
          { allowedHosts: config.server.allowedHosts }
        )

  let port: number | undefined
  let adminPort: number | undefined
  let closing: Promise<void> | undefined
  const ownUrl = (): string => localUrl(config.server.host, port ?? config.server.port)
  const url = (route = generations.current.config.routes[0]!.path): string => {
    return new URL(route, config.server.publicUrl ?? ownUrl()).href
  }
  const close = async (deadlineMs: number, hurry: boolean): Promise<void> => {
    state = 'leaving'
    generations.close()
    const parts = { inFlight, channels, listens, server }
    const times = {
      delayMs: port === undefined || hurry ? 0 : generations.current.config.server.shutdown.delay,
      deadlineMs
    }
    await drain(parts, times, () => {
      state = 'draining'
    })
    await server.close()
    pressure.close()
    sessions.stop()
    parked.close()
    desks.close()
    seats.close()
    await Promise.allSettled([...sessions.locals()].map(live => sessions.close(live, 'shutdown')))
    unions.close()
    asked.close()
    await probes.close()
    await links.close()
    await Promise.all([...generations.current.backends.values()].map(backend => backend.close()))
    await retiring.close()
    if (given.log === undefined) await log.close()
    if (given.store === undefined) await store.close()
    await presence.close()
    health.close()
    metrics.close()
    await admin?.close()
    logger.info('stopped')
    await logger.close()
  }

  return {
    async listen() {
      adminPort =
        config.admin === undefined ? undefined : (await admin!.listen(config.admin.host, config.admin.port)).port
      port = await server.listen(config.server.port)
      state = 'ready'
      greet(first, url)
      if (config.server.publicUrl !== undefined) logger.info(`listening at ${ownUrl()}`)
      logger.info('point a client at it', { mcpServers: clientBlock(config.routes, path => url(path)) })
      if (adminPort !== undefined) logger.info(`health and metrics at ${localUrl(config.admin!.host, adminPort)}`)
    },
    url,
    get adminUrl() {
      return adminPort === undefined ? undefined : localUrl(config.admin!.host, adminPort)
    },
    handler(name) {
      const handler = (generations.current.backends.get(name) as Partial<ModuleBackend> | undefined)?.handler
      if (handler === undefined) throw new TypeError(`there is no module backend "${name}" in this thread`)
      return handler
    },
    broadcast: (route, { method, params }) => announce(route, makeNotification(method, params)),
    reload: next => generations.reload(next),
    close(options) {
      const { deadline } = generations.current.config.server.shutdown
      closing ??= close(options?.deadline ?? deadline, options?.deadline !== undefined)
      return closing
    }
  }
}

/** Kinds whose conversations are one pipe, and how many of them one backend may have where each has one call at a time. */
const pipes: ReadonlySet<string | undefined> = new Set(['stdio', 'sse'])
const maxDesks = 32

const refusalOf =
  ({ scope }: Backend): Asking['refusal'] =>
  (asked, capabilities) =>
    scope === 'shared' ? ofNobody : refusal(asked, capabilities)

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
