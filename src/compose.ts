/** From a config to a wired, closable gateway. Here and in `compose/` alone are implementations named. */
import { anonymousAuthenticator } from './auth/anonymous.ts'
import type { ModuleBackend } from './backends/module/backend.ts'
import { Addresses } from './compose/addresses.ts'
import { wireAsking } from './compose/asking.ts'
import { serveBackends } from './compose/backends.ts'
import { wireContext } from './compose/context.ts'
import { wireDownstream } from './compose/downstream.ts'
import { end } from './compose/ending.ts'
import { createInstance, type Instance } from './compose/instance.ts'
import { wireModern } from './compose/modern.ts'
import { wireOperators } from './compose/operators.ts'
import type { Parts } from './compose/parts.ts'
import { beginReloads } from './compose/reloads.ts'
import { openStores } from './compose/stores.ts'
import { wireUpstream } from './compose/upstream.ts'
import type { Config } from './config/config.ts'
import { secretsOf } from './config/secrets.ts'
import { GatewayError } from './errors.ts'
import { broadcast } from './gateway/broadcast.ts'
import { clientBlock } from './gateway/client-block.ts'
import type { Context } from './gateway/context.ts'
import { Dispatch } from './gateway/dispatch.ts'
import { ended } from './gateway/ended.ts'
import { HandedOver } from './gateway/handed-over.ts'
import { generate } from './generations/generation.ts'
import { greet } from './generations/greeting.ts'
import type { ReloadReport } from './generations/reload.ts'
import type { Handler } from './handlers/handler.ts'
import { serverOptionsOf } from './http/options.ts'
import { createServer } from './http/server.ts'
import { makeNotification } from './protocol/make.ts'
import type { Message } from './protocol/message.ts'
import { createLogger } from './telemetry/logger.ts'

export type { Parts } from './compose/parts.ts'

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

/** Rejects with a GatewayError when a backend cannot be made at all (a module that does not load). */
export async function createGateway(config: Config, parts: Parts = {}): Promise<Gateway> {
  const logger = createLogger(config.logging, { secrets: secretsOf(config) })
  try {
    const served = serveBackends()
    const first = await generate(config, served.makers)
    const stores = await openStores(config)
    return await wire(createInstance(first, served, logger, parts, stores), parts)
  } catch (error) {
    await logger.close()
    throw error
  }
}

async function wire(
  instance: Instance,
  { authenticator = anonymousAuthenticator }: Pick<Parts, 'authenticator'>
): Promise<Gateway> {
  const { config, generations, sessions, logger, log, pressure } = instance
  const first = generations.current
  // Each part knows others that are made after it, and asks for them when it needs them.
  const all = (): Context => context
  const asking = wireAsking(instance, all)
  const upstream = wireUpstream(instance, asking, all)
  const downstream = wireDownstream(instance, asking, upstream, all)
  const modern = wireModern(instance, upstream)
  const context = wireContext(instance, asking, upstream, downstream, modern)
  sessions.onClosed((live, reason) => void ended(live, reason, context, log))

  const addresses = new Addresses(instance)
  beginReloads(instance, upstream, downstream, addresses)
  const dispatch = new Dispatch(context)
  const { presence } = instance
  const handedOver = instance.shared && new HandedOver({ log, presence, routes: generations, dispatch })
  const server = await createServer(dispatch, generations, authenticator, pressure, serverOptionsOf(config))
  const announce = async (route: string, notification: Message): Promise<number> => {
    if (generations.find(route) === undefined) throw new GatewayError('path', `there is no route ${route}`)
    const { channels, listens } = downstream
    return (await broadcast(route, notification, sessions, channels, log)) + listens.broadcast(route, notification)
  }
  const operators = await wireOperators(instance, upstream, server, announce)

  const { url } = addresses
  let closing: Promise<void> | undefined
  return {
    async listen() {
      const { admin } = config
      if (admin !== undefined) addresses.adminPort = (await operators.admin!.listen(admin.host, admin.port)).port
      addresses.port = await server.listen(config.server.port)
      instance.state = 'ready'
      greet(first, url)
      if (config.server.publicUrl !== undefined) logger.info(`listening at ${addresses.own}`)
      logger.info('point a client at it', { mcpServers: clientBlock(config.routes, url) })
      if (addresses.admin !== undefined) logger.info(`health and metrics at ${addresses.admin}`)
    },
    url,
    get adminUrl() {
      return addresses.admin
    },
    handler(name) {
      const handler = (generations.current.backends.get(name) as Partial<ModuleBackend> | undefined)?.handler
      if (handler === undefined) throw new TypeError(`there is no module backend "${name}" in this thread`)
      return handler
    },
    broadcast: (route, { method, params }) => announce(route, makeNotification(method, params)),
    reload: next => generations.reload(next),
    close({ deadline } = {}) {
      const { shutdown } = generations.current.config.server
      const delayMs = addresses.port === undefined || deadline !== undefined ? 0 : shutdown.delay
      closing ??= end(
        { instance, upstream, context, server, operators, handedOver },
        { delayMs, deadlineMs: deadline ?? shutdown.deadline }
      )
      return closing
    }
  }
}
