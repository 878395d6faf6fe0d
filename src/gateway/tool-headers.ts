/** `x-mcp-header` of the tools of a route: what the headers of a call are judged by (2026-07-28 server/tools, "x-mcp-header"). */
import type { Backend } from '../backends/backend.ts'
import { type Message, stringParam } from '../protocol/message.ts'
import { checkParams, hasParamHeaders } from '../protocol/mirrored.ts'
import { headersOfTool, InvalidParamHeaders, type ParamHeader } from '../protocol/param-headers.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Context } from './context.ts'
import { type Item, kinds } from './list-items.ts'
import type { IncomingPost } from './request.ts'
import { resolveName } from './resolve-name.ts'
import type { Union } from './union.ts'

/** How long (ms) a call waits for a list that was never read, and how long (ms) a list counts. */
const patienceMs = 5_000
const countsMs = 300_000

/**
 * Throws, or rejects with, `mismatch` when the `Mcp-Param-*` headers of a call are not what the arguments say. A tool whose
 * backend cannot tell its schema is not judged. Undefined: that was known at once.
 */
export function checkParamHeaders(
  request: Message,
  { route, rawHeaders }: IncomingPost,
  live: Live,
  context: Context
): Promise<void> | undefined {
  if (request.method !== 'tools/call') return undefined
  const name = stringParam(request, 'name')
  if (name === undefined) return undefined
  const { backend, union } = route
  const annotations =
    backend === undefined
      ? annotationsAmong(union!, name, live, context)
      : annotationsOf(backend, name, live, context, hasParamHeaders(rawHeaders))
  const check = (found: readonly ParamHeader[]): void => {
    if (found.length > 0) checkParams(request, found, rawHeaders)
  }
  if ('then' in annotations) return annotations.then(check)
  check(annotations)
  return undefined
}

async function annotationsAmong(
  union: Union,
  name: string,
  live: Live,
  context: Context
): Promise<readonly ParamHeader[]> {
  try {
    const { member, name: own } = await resolveName(union, kinds.tools, name, live)
    return await annotationsOf(member.backend, own, live, context, false)
  } catch {
    // A name that nobody has is told of by the call itself.
    return none
  }
}

/** `again`: a tool that the list does not have may be new. */
function annotationsOf(
  backend: Backend,
  tool: string,
  live: Live,
  { lists }: Context,
  again: boolean
): readonly ParamHeader[] | Promise<readonly ParamHeader[]> {
  const entry = lists.entry(backend, live, kinds.tools)
  const known = (): readonly ParamHeader[] => {
    const item = entry.list?.byId.get(tool)
    return item === undefined ? none : annotated(item)
  }
  // What is old is read again, behind the call where there is something to judge it by.
  const reading = lists.reading(entry, live, countsMs, patienceMs)
  const isUnknown = entry.list === undefined || (again && !entry.list.byId.has(tool))
  return isUnknown && reading !== undefined ? patiently(reading).then(known) : known()
}

async function patiently(reading: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>(resolve => {
    timer = setTimeout(resolve, patienceMs)
  })
  await Promise.race([reading, late])
  clearTimeout(timer)
}

const none: readonly ParamHeader[] = []

/** Found once for each item of a list. */
const found = new WeakMap<Item, readonly ParamHeader[]>()

function annotated(item: Item): readonly ParamHeader[] {
  let headers = found.get(item)
  if (headers === undefined) {
    headers = headersOf(item)
    found.set(item, headers)
  }
  return headers
}

/** Of a tool whose annotations are not valid: none. */
function headersOf({ bytes, start, end }: Item): readonly ParamHeader[] {
  try {
    return headersOfTool(bytes.toString('utf8', start, end))
  } catch (error) {
    if (error instanceof InvalidParamHeaders) return none
    throw error
  }
}
