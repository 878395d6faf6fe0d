import { GatewayError } from '../../errors.ts'
import { Catalog, type Report } from '../../handlers/catalog.ts'
import type { HandlerDefinition } from '../../handlers/definition.ts'
import { Handler } from '../../handlers/handler.ts'
import { makeNotification } from '../../protocol/make.ts'
import type { Message } from '../../protocol/message.ts'
import { facts } from '../../telemetry/events.ts'
import type { Backend, OpenOptions } from '../backend.ts'
import { Health } from '../health.ts'
import { followFiles } from './files.ts'
import { HandlersAt } from './handlers.ts'
import { identityOf } from './identity.ts'
import { ModuleLink } from './link.ts'
import type { Marker } from './marker.ts'
import { ModernTasks } from './modern-tasks.ts'
import { serverOf } from './server.ts'
import type { Shared } from './shared.ts'
import { Stuck } from './stuck.ts'

export interface ModuleOptions {
  readonly name: string
  /** A file, or a folder of files. */
  readonly path?: string
  /** Served before what is found at `path`. */
  readonly handlers?: readonly Handler[]
  /** Refuse to start when anything cannot be served; otherwise it is reported and left out. */
  readonly strict?: boolean
  /** Load the files at `path` again when they change. Default false. */
  readonly watch?: boolean
  /** The files may have changed since this process loaded them for another backend. Default false. */
  readonly fresh?: boolean
  /** Bytes that one answer may have; 32 MiB unless told otherwise. */
  readonly limits?: { readonly upstream: number }
  /** Of the thread that this is in, when it is watched. */
  readonly marker?: Marker
}

export interface ModuleBackend extends Backend {
  /** Takes what is added by code, before and after the start; it wins over what was found. */
  readonly handler: Handler
}

const defaultPageSize = 100
const defaultMaxBytes = 32 * 1024 * 1024
/** Problems told; the same one is not told twice. */
const maxWarnings = 1_000

/** Rejects with a GatewayError `backend_unavailable` when nothing can be loaded, or with `strict` when anything cannot. */
export async function createModuleBackend(options: ModuleOptions): Promise<ModuleBackend> {
  const { name, path, strict = false } = options
  const fail = (text: string, cause?: unknown): never => {
    throw new GatewayError('backend_unavailable', text, { backend: name, cause })
  }
  const found = new HandlersAt(options)
  const own = new Handler({ name })
  const served = (at: readonly Handler[]): Handler[] => [own, ...(options.handlers ?? []), ...at]
  const handlers = served(await found.load(options.fresh === true))
  const warned = new Set<string>()
  const warn = (what: string, problem: string): void => {
    const text = `${what}: ${problem}`
    if (warned.has(text) || warned.size >= maxWarnings) return
    warned.add(text)
    facts.notice.publish({ level: 'warn', text, backend: name })
  }
  const health = new Health(name)
  const links = new Set<ModuleLink>()
  const tell = (message: Message): void => {
    for (const link of links) link.tell(message)
  }
  const updated = (uri: string): void => {
    for (const link of links) link.updated(uri)
  }
  let starting = strict
  const report = (what: string, problem: string, refused: boolean): void => {
    if (refused && starting) fail(`${what} cannot be served: ${problem}`)
    warn(what, refused ? `left out: ${problem}` : problem)
  }
  const catalog = new Catalog(handlers, report, {
    changed(kind) {
      for (const link of links) link.changed(kind)
    },
    updated,
    broadcast: (method, params) => tell(makeNotification(method, params))
  })
  tellServed(name, catalog)
  starting = false
  let definitions = catalog.definitions.slice(1)
  const maxBytes = options.limits?.upstream ?? defaultMaxBytes
  const shared: Shared = {
    name,
    catalog,
    get logging() {
      return first(definitions, 'logging') ?? 'warning'
    },
    get pageSize() {
      return first(definitions, 'pageSize') ?? defaultPageSize
    },
    get complete() {
      return first(definitions, 'complete')
    },
    maxBytes,
    tasks: new Map(),
    modernTasks: new ModernTasks(maxBytes),
    stuck: new Stuck(name),
    marker: options.marker,
    updated,
    broadcast: tell,
    warn
  }
  const reload = async (): Promise<void> => {
    const reloaded = await found.reload()
    if (reloaded === undefined) return
    const next = served(reloaded)
    const refused = strict ? firstRefused(next) : undefined
    if (refused !== undefined) {
      warn(refused, 'what was served before goes on')
      return
    }
    catalog.replace(next)
    definitions = catalog.definitions.slice(1)
    tellServed(name, catalog)
  }
  const following = options.watch === true && path !== undefined ? await followFiles(path, reload) : undefined
  return {
    name,
    identity: identityOf(path ?? name),
    scope: 'session',
    knowsModern: true,
    handler: own,
    async open(options: OpenOptions) {
      const link = new ModuleLink(
        shared,
        serverOf(shared, definitions[0] ?? own.definition, options.client.version, options.principal),
        options,
        closed => links.delete(closed)
      )
      links.add(link)
      health.up()
      return link
    },
    tune({ retired }) {
      if (retired) health.retire()
    },
    async close() {
      following?.close()
      catalog.close()
      await Promise.all([...links].map(link => link.close()))
      shared.modernTasks.close()
      shared.stuck.close()
    }
  }
}

const first = <K extends keyof HandlerDefinition>(
  definitions: readonly HandlerDefinition[],
  key: K
): HandlerDefinition[K] | undefined => definitions.find(definition => definition[key] !== undefined)?.[key]

function tellServed(backend: string, { tools, resources, templates, prompts }: Catalog): void {
  facts.notice.publish({
    level: 'info',
    text: `${tools.size} tools, ${resources.size} resources, ${templates.size} resource templates, ${prompts.size} prompts`,
    backend,
    data: {
      tools: [...tools.keys()],
      resources: [...resources.keys(), ...templates.keys()],
      prompts: [...prompts.keys()]
    }
  })
}

/** What cannot be served of these, and why; undefined when all of it can be. */
function firstRefused(handlers: readonly Handler[]): string | undefined {
  let found: string | undefined
  const report: Report = (what, problem, refused) => {
    if (refused) found ??= `${what} cannot be served: ${problem}`
  }
  const catalog = new Catalog(handlers, report, { changed() {}, updated() {}, broadcast() {} })
  void [catalog.tools, catalog.resources, catalog.templates, catalog.prompts]
  catalog.close()
  return found
}
