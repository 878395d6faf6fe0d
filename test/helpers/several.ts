/** A gateway with several catalogs behind one route. */
import type { Test } from 'tap'
import type { Parts } from '../../src/index.ts'
import { Catalog, type CatalogOptions } from './catalog.ts'
import { type RunningGateway, startGateway } from './gateway.ts'
import { RawClient } from './raw-client.ts'

export interface SeveralOptions {
  /** Further members of the route, and of backends by name. */
  readonly route?: object
  readonly backends?: Readonly<Record<string, object>>
  /** Further members of the file. */
  readonly file?: Readonly<Record<string, unknown>>
  readonly parts?: Parts
}

/** A backend as `/readyz?verbose` tells it. */
export interface BackendStatus {
  readonly name: string
  readonly state: string
  readonly inflight: number
  readonly lastError?: string
}

export interface Several<Name extends string> extends RunningGateway {
  readonly catalogs: Readonly<Record<Name, Catalog>>
  open(options?: Parameters<typeof RawClient.open>[1]): Promise<RawClient>
  status(): Promise<{ readonly backends: readonly BackendStatus[] }>
  /** One line of the metrics page that begins so. */
  metric(line: string): Promise<number | undefined>
}

/** Backends stand on the route in the order in which they are named. */
export async function startSeveral<Name extends string>(
  t: Test,
  of: Readonly<Record<Name, CatalogOptions>>,
  { route = {}, backends = {}, file = {}, parts = {} }: SeveralOptions = {}
): Promise<Several<Name>> {
  const names = Object.keys(of) as Name[]
  const started = await Promise.all(names.map(name => Catalog.start(t, name, of[name])))
  const catalogs = Object.fromEntries(started.map(catalog => [catalog.name, catalog])) as Record<Name, Catalog>
  const running = await startGateway(
    t,
    {
      ...file,
      backends: Object.fromEntries(names.map(name => [name, { ...catalogs[name].config, ...backends[name] }])),
      routes: { '/mcp': { backends: names, ...route } }
    },
    import.meta.dirname,
    parts
  )
  return {
    ...running,
    catalogs,
    open: options => RawClient.open(running.url, options),
    async status() {
      const response = await fetch(new URL('/readyz?verbose', running.adminUrl))
      return (await response.json()) as Awaited<ReturnType<Several<Name>['status']>>
    },
    async metric(line) {
      const text = await (await fetch(new URL('/metrics', running.adminUrl))).text()
      const found = text.split('\n').find(one => one.startsWith(line))
      return found === undefined ? undefined : Number(found.slice(found.lastIndexOf(' ') + 1))
    }
  }
}

const keys: Readonly<Record<string, string>> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates'
}

let asked = 0

/** The response to a request with an id of its own, as JSON or at the end of a stream. */
export async function ask(client: RawClient, method: string, params?: object): Promise<any> {
  const { json, text, status, events } = await client.post({ id: `asked-${++asked}`, method, params })
  if (json !== undefined) return json
  if (status !== 200 || text !== '') throw new Error(`${method}: ${status} ${text}`)
  await events.whole(30_000)
  return events.messages.at(-1)
}

/** The response to a call of a tool. */
export const called = (client: RawClient, name: string): Promise<any> =>
  ask(client, 'tools/call', { name, arguments: {} })

/** Every item of a list, its pages followed; throws at an error and at a cursor that came before. */
export async function wholeList(client: RawClient, method: string): Promise<any[]> {
  const found: any[] = []
  const cursors = new Set<string>()
  let cursor: string | undefined
  for (;;) {
    const { result, error } = await ask(client, method, cursor === undefined ? undefined : { cursor })
    if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
    found.push(...result[keys[method]!])
    cursor = result.nextCursor
    if (cursor === undefined) return found
    if (cursors.has(cursor)) throw new Error(`${method}: the cursor ${cursor} came twice`)
    cursors.add(cursor)
  }
}

export const names = (list: readonly any[]): string[] => list.map(({ name }) => name)

/** The backends that are missing in a list, as its result names them. */
export const unavailable = (result: any): string[] => result._meta?.['dev.causeway/unavailable'] ?? []
