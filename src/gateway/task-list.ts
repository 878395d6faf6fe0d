/** `tasks/list` of several backends: a page of each side by side, and one cursor for what follows (basic/utilities/tasks, "Listing Tasks"). */
import { GatewayError } from '../errors.ts'
import { makeRequest } from '../protocol/make.ts'
import { isError, type Message, readMessage, stringParam } from '../protocol/message.ts'
import { codeOf } from './list-fetch.ts'
import { unavailableKey } from './merge.ts'
import { listedTasks } from './task-ids.ts'

export interface TaskListOptions {
  /** Those that list tasks, in config order. */
  readonly backends: readonly string[]
  /** Resolves to the backend's response, rejects with a GatewayError. */
  readonly ask: (backend: string, request: Message) => Promise<Message>
  /** Whether a backend that fails is left out, and named in the result; else the first failure rejects. */
  readonly skip: boolean
}

interface Page {
  readonly backend: string
  readonly tasks: readonly string[]
  readonly next: string | undefined
}

/** Rejects with GatewayError `params` (-32602) for a cursor that is none of ours, or that its backend does not take. */
export async function taskList(request: Message, { backends, ask, skip }: TaskListOptions): Promise<Message> {
  const cursors = cursorsOf(request, backends)
  const settled = await Promise.allSettled(
    [...cursors].map(async ([backend, cursor]) => {
      const upstream = makeRequest(request.id!, 'tasks/list', cursor === undefined ? undefined : { cursor })
      return pageOf(await ask(backend, upstream), backend, cursor)
    })
  )
  const pages: Page[] = []
  const missing: string[] = []
  settled.forEach((one, i) => {
    if (one.status === 'fulfilled') pages.push(one.value)
    else if (!skip || (one.reason as GatewayError).code === 'params') throw one.reason
    else missing.push([...cursors.keys()][i]!)
  })
  const next = pages.flatMap(({ backend, next }) => (next === undefined ? [] : [[backend, next] as const]))
  const members = [
    `"tasks":[${pages.flatMap(({ tasks }) => tasks).join(',')}]`,
    ...(next.length === 0 ? [] : [`"nextCursor":"${cursorTo(next)}"`]),
    ...(missing.length === 0 ? [] : [`"_meta":{"${unavailableKey}":${JSON.stringify(missing)}}`])
  ]
  const text = `{"jsonrpc":"2.0","id":${request.id},"result":{${members.join(',')}}}`
  return readMessage(Buffer.from(text), Number.POSITIVE_INFINITY)
}

function pageOf(response: Message, backend: string, cursor: string | undefined): Page {
  if (isError(response)) {
    const code = codeOf(response)
    if (cursor !== undefined && code === -32602) throw unknownCursor()
    throw new GatewayError('backend_invalid', `tasks/list of "${backend}" is the error ${code}`, { backend })
  }
  const page = listedTasks(response, backend)
  if (page === undefined) {
    throw new GatewayError('backend_invalid', `tasks/list of "${backend}" has no list of tasks`, { backend })
  }
  return { backend, ...page }
}

/** The next page of each backend that has one, by name. */
const cursorTo = (next: readonly (readonly [string, string])[]): string =>
  Buffer.from(JSON.stringify({ tasks: Object.fromEntries(next) })).toString('base64url')

/** Whom to ask, and for which page. */
function cursorsOf(request: Message, backends: readonly string[]): ReadonlyMap<string, string | undefined> {
  if (request.scanned.params?.keys.includes('cursor') !== true) return new Map(backends.map(name => [name, undefined]))
  const places = placesIn(stringParam(request, 'cursor') ?? '')
  const entries = Object.entries(places ?? {})
  const known = entries.every(([name, cursor]) => backends.includes(name) && typeof cursor === 'string')
  if (entries.length === 0 || !known) throw unknownCursor()
  return new Map(entries as [string, string][])
}

function placesIn(cursor: string): object | undefined {
  try {
    const value = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as { tasks?: unknown } | null
    return typeof value?.tasks === 'object' && value.tasks !== null ? value.tasks : undefined
  } catch {
    return undefined
  }
}

const unknownCursor = (): GatewayError => new GatewayError('params', 'params.cursor is none that was given here')
