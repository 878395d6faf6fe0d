/**
 * Resources that backends speak of: links and embedded resources in results, parts of what was read, what was updated. They
 * need not be listed anywhere (server/tools, "Resource Links"; server/resources, "Subscriptions"), so that of several backends
 * the one that spoke of it last is where a session reads it.
 */
import type { Backend } from '../backends/backend.ts'
import { elements, find } from '../protocol/find.ts'
import { type Message, stringParam } from '../protocol/message.ts'
import { decodeString } from '../protocol/names.ts'
import type { Live } from '../sessions/lifecycle.ts'

/** URIs of one session that are remembered, the latest; and the longest of them, in bytes of JSON text. */
const maxLinks = 100
const maxLinkBytes = 1_024

/** Larger results (bytes) are not looked at: that would take too long, and those that speak of others are short. */
const maxLookedAt = 262_144

/** Most results have none: a search of the bytes is cheaper than a look at them. */
const marked = Buffer.from('"resource')

export class Linked {
  readonly #sessions = new WeakMap<Live, Map<string, Backend>>()

  /** Something of one of several backends, for a session. `method`: of the request that a response answers. */
  learn(message: Message, live: Live, backend: Backend, method: string | undefined): void {
    for (const uri of urisIn(message, method)) {
      const links = this.#sessions.get(live) ?? new Map<string, Backend>()
      this.#sessions.set(live, links)
      links.delete(uri)
      links.set(uri, backend)
      if (links.size > maxLinks) links.delete(links.keys().next().value!)
    }
  }

  /** Who spoke of it last; undefined when nobody did. */
  of(uri: string, live: Live): Backend | undefined {
    return this.#sessions.get(live)?.get(uri)
  }
}

function* urisIn(message: Message, method: string | undefined): Iterable<string> {
  if (message.kind === 'response') yield* ofResult(message, method)
  else if (message.method === 'notifications/resources/updated') yield* short(stringParam(message, 'uri'))
}

/** Of the blocks in the content of a tool's result, or of the messages of a prompt; of what was read. */
function* ofResult({ source, scanned: { top } }: Message, method: string | undefined): Iterable<string> {
  const i = top.keys.indexOf('result')
  if (i === -1 || source.length > maxLookedAt) return
  const listed = (key: string): Iterable<number> => startsAt(source, top.spans[2 * i]!, key)
  if (method === 'resources/read') {
    for (const start of listed('contents')) yield* textAt(source, start, 'uri')
  } else if (source.includes(marked)) {
    for (const start of listed('content')) yield* ofBlock(source, start)
    for (const start of listed('messages')) {
      const block = find(source, start, ['content'])
      if (block !== undefined) yield* ofBlock(source, block.start)
    }
  }
}

function* startsAt(source: Buffer, object: number, key: string): Iterable<number> {
  const list = find(source, object, [key])
  for (const { start } of (list && elements(source, list.start)) ?? []) yield start
}

function* ofBlock(source: Buffer, block: number): Iterable<string> {
  const [type] = textAt(source, block, 'type')
  if (type === 'resource_link') yield* textAt(source, block, 'uri')
  else if (type === 'resource') yield* textAt(source, block, 'resource', 'uri')
}

function* textAt(source: Buffer, start: number, ...path: string[]): Iterable<string> {
  const span = find(source, start, path)
  if (span === undefined || source[span.start] !== 0x22 || span.end - span.start > maxLinkBytes) return
  yield decodeString(source, span.start, span.end)
}

function* short(uri: string | undefined): Iterable<string> {
  if (uri !== undefined && uri.length <= maxLinkBytes) yield uri
}
