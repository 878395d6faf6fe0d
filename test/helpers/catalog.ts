/**
 * One of several backends behind a route: a scripted server over Streamable HTTP that has lists, tells their changes to
 * every session that listens, knows who subscribed to what, and goes away when a test says so.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { stringParam } from '../../src/protocol/message.ts'
import { HttpUpstream, type HttpUpstreamOptions } from './http-upstream.ts'
import { Scripted } from './scripted.ts'

export type ListKind = 'tools' | 'prompts' | 'resources' | 'templates'
export interface Item {
  readonly [key: string]: unknown
}

export interface CatalogOptions {
  readonly tools?: readonly (string | Item)[]
  readonly prompts?: readonly (string | Item)[]
  /** URIs, or whole resources. */
  readonly resources?: readonly (string | Item)[]
  /** URI templates, or whole ones. */
  readonly templates?: readonly (string | Item)[]
  /** Instead of what follows from the lists. */
  readonly capabilities?: Item
  readonly instructions?: string
  /** Items on a page. Left out: all. */
  readonly page?: number
  readonly http?: HttpUpstreamOptions
}

/** `up`; `resetting`: every connection is reset; `hanging`: requests are taken and never answered. */
export type CatalogState = 'up' | 'resetting' | 'hanging'

const keys = { tools: 'tools', prompts: 'prompts', resources: 'resources', templates: 'resourceTemplates' } as const
const methods = {
  tools: 'tools/list',
  prompts: 'prompts/list',
  resources: 'resources/list',
  templates: 'resources/templates/list'
} as const

const itemOf: Record<ListKind, (text: string) => Item> = {
  tools: name => ({ name, inputSchema: { type: 'object' } }),
  prompts: name => ({ name }),
  resources: uri => ({ uri, name: uri }),
  templates: uriTemplate => ({ uriTemplate, name: uriTemplate })
}

const items = (kind: ListKind, list: readonly (string | Item)[] = []): Item[] =>
  list.map(one => (typeof one === 'string' ? itemOf[kind](one) : one))

export class Catalog {
  readonly name: string
  readonly server = new Scripted()
  readonly lists: Record<ListKind, Item[]>
  state: CatalogState = 'up'
  page: number
  /** GET streams, and what was subscribed to, by session. */
  readonly channels = new Map<string, ServerResponse>()
  readonly subscriptions = new Map<string, Set<string>>()
  #upstream!: HttpUpstream
  readonly #http: HttpUpstreamOptions
  /** The tests' own answer; true: the request was dealt with. */
  intercept: NonNullable<HttpUpstreamOptions['intercept']>

  private constructor(name: string, options: CatalogOptions) {
    this.name = name
    this.page = options.page ?? Number.POSITIVE_INFINITY
    this.#http = options.http ?? {}
    this.intercept = this.#http.intercept ?? (() => false)
    this.lists = {
      tools: items('tools', options.tools),
      prompts: items('prompts', options.prompts),
      resources: items('resources', options.resources),
      templates: items('templates', options.templates)
    }
    const { lists, server } = this
    const capabilities = options.capabilities ?? {
      ...(lists.tools.length > 0 ? { tools: { listChanged: true } } : {}),
      ...(lists.prompts.length > 0 ? { prompts: { listChanged: true } } : {}),
      ...(lists.resources.length + lists.templates.length > 0
        ? { resources: { listChanged: true, subscribe: true } }
        : {})
    }
    server.initializeResult = JSON.stringify({
      protocolVersion: '2025-11-25',
      capabilities,
      serverInfo: { name, version: '1' },
      ...(options.instructions === undefined ? {} : { instructions: options.instructions })
    })
    for (const kind of Object.keys(keys) as ListKind[]) {
      server.on(methods[kind], turn => turn.answer(this.#list(kind, stringParam(turn.message, 'cursor'))))
    }
    server.on('tools/call', turn => {
      const { name: tool } = turn
      if (!lists.tools.some(({ name }) => name === tool)) return turn.refuse(-32602, `Unknown tool: ${tool}`)
      turn.answer(JSON.stringify({ content: [{ type: 'text', text: `${name}: ${tool}` }], from: name, tool }))
    })
    server.on('prompts/get', turn => {
      const { name: prompt } = turn
      if (!lists.prompts.some(({ name }) => name === prompt)) return turn.refuse(-32602, `Unknown prompt: ${prompt}`)
      turn.answer(JSON.stringify({ messages: [], from: name, prompt }))
    })
    server.on('resources/read', turn => {
      const uri = stringParam(turn.message, 'uri')
      turn.answer(JSON.stringify({ contents: [{ uri, text: `${name}: ${uri}` }], from: name }))
    })
    server.on('resources/subscribe', turn => turn.answer('{}'))
    server.on('resources/unsubscribe', turn => turn.answer('{}'))
    server.on('logging/setLevel', turn => turn.answer('{}'))
  }

  static async start(
    t: { teardown(handler: () => Promise<void>): void },
    name: string,
    options: CatalogOptions = {}
  ): Promise<Catalog> {
    const catalog = new Catalog(name, options)
    catalog.#upstream = await HttpUpstream.start(catalog.server, {
      ...catalog.#http,
      intercept: (request, response, body) => catalog.#intercept(request, response, body)
    })
    t.teardown(() => catalog.#upstream.close())
    return catalog
  }

  /** The entry under `backends`. */
  get config(): { readonly kind: 'http'; readonly url: string } {
    return { kind: 'http', url: this.#upstream.url }
  }

  get upstream(): HttpUpstream {
    return this.#upstream
  }

  /** What the client of a session said of itself when it opened it. */
  clientOf(request: IncomingMessage): { readonly clientInfo: { readonly name: string }; readonly capabilities: Item } {
    const opened = this.#upstream.opened.get(String(request.headers['mcp-session-id']))
    return (JSON.parse(opened ?? '{}') as { params: ReturnType<Catalog['clientOf']> }).params
  }

  /** How often a method was heard. */
  heard(method: string): number {
    return this.server.heardOf(method).length
  }

  /** Sets a list; tells it to all who listen. */
  change(kind: ListKind, list: readonly (string | Item)[]): void {
    this.lists[kind] = items(kind, list)
    this.tell(`notifications/${kind === 'templates' ? 'resources' : kind}/list_changed`)
  }

  /** A notification to every session that listens. */
  tell(method: string, params?: object): void {
    for (const session of this.channels.keys()) this.tellOne(session, method, params)
  }

  tellOne(session: string, method: string, params?: object): void {
    this.channels.get(session)?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`)
  }

  /** `resources/updated` to the sessions that subscribed. */
  update(uri: string): void {
    for (const [session, uris] of this.subscriptions) {
      if (uris.has(uri)) this.tellOne(session, 'notifications/resources/updated', { uri })
    }
  }

  /** It forgets its sessions; every connection breaks. */
  crash(): void {
    this.#upstream.sessions.clear()
    this.subscriptions.clear()
    this.channels.clear()
    this.#upstream.cut()
  }

  /** Crashes, and connections are refused. */
  async goDown(): Promise<void> {
    this.crash()
    await this.#upstream.down()
  }

  async comeBack(): Promise<void> {
    await this.#upstream.up()
  }

  #list(kind: ListKind, cursor: string | undefined): string {
    const list = this.lists[kind]
    const from = Number(cursor ?? 0)
    const to = from + this.page
    const next = to < list.length ? { nextCursor: String(to) } : {}
    return JSON.stringify({ [keys[kind]]: list.slice(from, to), ...next })
  }

  async #intercept(request: IncomingMessage, response: ServerResponse, body: string): Promise<boolean> {
    if (this.state === 'resetting') {
      request.socket.resetAndDestroy()
      return true
    }
    if (this.state === 'hanging') return true
    if (await this.intercept(request, response, body)) return true
    const session = String(request.headers['mcp-session-id'] ?? '')
    if (request.method === 'POST') this.#subscribed(session, body)
    if (request.method === 'DELETE') this.subscriptions.delete(session)
    if (request.method !== 'GET' || (this.#http.get ?? 200) !== 200 || !this.#upstream.sessions.has(session))
      return false
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    this.channels.set(session, response)
    response.on('close', () => {
      if (this.channels.get(session) === response) this.channels.delete(session)
    })
    return true
  }

  #subscribed(session: string, body: string): void {
    if (!body.includes('subscribe') || !this.#upstream.sessions.has(session)) return
    const { method, params } = JSON.parse(body) as { method?: string; params?: { uri?: string } }
    const uri = params?.uri
    if (uri === undefined) return
    if (method === 'resources/subscribe') {
      const uris = this.subscriptions.get(session)
      if (uris === undefined) this.subscriptions.set(session, new Set([uri]))
      else uris.add(uri)
    } else if (method === 'resources/unsubscribe') this.subscriptions.get(session)?.delete(uri)
  }
}
