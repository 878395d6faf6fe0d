/**
 * Resources that results of tools and prompts link to: they need not be listed anywhere (server/tools, "Resource Links"), so
 * that of several backends the one that gave the link is where a session reads it.
 */
import type { Backend } from '../backends/backend.ts'
import { elements, find } from '../protocol/find.ts'
import type { Message } from '../protocol/message.ts'
import { decodeString } from '../protocol/names.ts'
import type { Live } from '../sessions/lifecycle.ts'

/** Links of one session that are remembered, the latest; and the longest of them, in bytes of JSON text. */
const maxLinks = 100
const maxLinkBytes = 1_024

/** Most results have none: a search of the bytes is cheaper than a look at them. */
const marked = Buffer.from('resource_link')

export class Linked {
  readonly #sessions = new WeakMap<Live, Map<string, Backend>>()

  /** A response of one of several backends. */
  learn(response: Message, live: Live, backend: Backend): void {
    if (!response.source.includes(marked)) return
    for (const uri of linksIn(response)) {
      const links = this.#sessions.get(live) ?? new Map<string, Backend>()
      this.#sessions.set(live, links)
      links.delete(uri)
      links.set(uri, backend)
      if (links.size > maxLinks) links.delete(links.keys().next().value!)
    }
  }

  /** Who gave the link last; undefined when nobody did. */
  of(uri: string, live: Live): Backend | undefined {
    return this.#sessions.get(live)?.get(uri)
  }
}

/** URIs of the blocks in the content of a tool's result, or of the messages of a prompt. */
function* linksIn({ source, scanned: { top } }: Message): Iterable<string> {
  const i = top.keys.indexOf('result')
  if (i === -1) return
  const result = top.spans[2 * i]!
  const content = find(source, result, ['content'])
  for (const { start } of (content && elements(source, content.start)) ?? []) yield* linkAt(source, start)
  const messages = find(source, result, ['messages'])
  for (const { start } of (messages && elements(source, messages.start)) ?? []) {
    const block = find(source, start, ['content'])
    if (block !== undefined) yield* linkAt(source, block.start)
  }
}

function* linkAt(source: Buffer, block: number): Iterable<string> {
  if (textAt(source, block, 'type') !== 'resource_link') return
  const uri = textAt(source, block, 'uri')
  if (uri !== undefined) yield uri
}

function textAt(source: Buffer, start: number, key: string): string | undefined {
  const span = find(source, start, [key])
  if (span === undefined || source[span.start] !== 0x22 || span.end - span.start > maxLinkBytes) return undefined
  return decodeString(source, span.start, span.end)
}
