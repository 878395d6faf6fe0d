/** A whole list of one upstream: its pages followed, within bounds (server/utilities/pagination; MUX-05). */
import { createHash } from 'node:crypto'
import { setImmediate as otherWork } from 'node:timers/promises'
import { GatewayError } from '../errors.ts'
import { makeRequest } from '../protocol/make.ts'
import { isError, type Message, textOf } from '../protocol/message.ts'
import { type Hint, noHint, together } from './hints.ts'
import { type Item, type Kind, pageOf } from './list-items.ts'

/** Pages, items and bytes of one list. */
export const maxPages = 100
export const maxItems = 10_000
export const maxBytes = 16_777_216

export interface List {
  /** In the upstream's order; of several with one name the first. */
  readonly items: readonly Item[]
  readonly byId: ReadonlyMap<string, Item>
  /** Of its text, however it came in pages. */
  readonly hash: string
}

/** What the upstream says of how long it holds goes with one reading of a list, not with the list. Undefined: nothing. */
export interface Fetched {
  readonly list: List
  readonly hint: Hint | undefined
}

/** Of a backend that has nothing of the kind. */
export const emptyList: List = { items: [], byId: new Map(), hash: '' }
const nothing: Fetched = { list: emptyList, hint: undefined }

/**
 * `ask` sends a request and resolves to its response. Rejects with a GatewayError for an upstream that answers with an
 * error, with something that is no list, with a cursor that it gave before, or with more than the bounds: half of a list is
 * no list. An upstream that does not know the method has an empty one.
 */
export async function fetchList(
  kind: Kind,
  backend: string,
  ask: (request: Message) => Promise<Message>
): Promise<Fetched> {
  const refuse = (text: string): never => {
    throw new GatewayError('backend_invalid', `backend "${backend}": ${kind.method} ${text}`, { backend })
  }
  const byId = new Map<string, Item>()
  const cursors = new Set<string>()
  const digest = createHash('sha256')
  const hints: (Hint | undefined)[] = []
  let cursor: string | undefined
  let size = 0
  for (let pages = 1; ; pages++) {
    const response = await ask(makeRequest('0', kind.method, cursor === undefined ? undefined : { cursor }))
    if (isError(response)) {
      if (pages === 1 && codeOf(response) === -32601) return nothing
      refuse(`answered with the error ${codeOf(response)}`)
    }
    const page = pageOf(response, kind, backend)
    size += page.size
    hints.push(page.hint)
    if (size > maxBytes) refuse(`has more than ${maxBytes} bytes`)
    if (byId.size > 0 && page.text.length > 0) digest.update(',')
    digest.update(page.text)
    for (const item of page.items) if (!byId.has(item.id)) byId.set(item.id, item)
    if (byId.size > maxItems) refuse(`has more than ${maxItems} items`)
    cursor = page.nextCursor
    if (cursor === undefined) break
    if (cursors.has(cursor)) refuse('gave the same cursor twice')
    if (pages === maxPages) refuse(`has more than ${maxPages} pages`)
    cursors.add(cursor)
    await otherWork()
  }
  const list = { items: [...byId.values()], byId, hash: digest.digest('base64') }
  const isSilent = hints.every(hint => hint === undefined)
  return { list, hint: isSilent ? undefined : together(hints.map(hint => hint ?? noHint)) }
}

/** Of an error response; not a number: whatever else stands there is not repeated. */
export function codeOf({ source, scanned }: Message): number {
  const code = (JSON.parse(textOf(source, scanned.top, 'error')!) as { code?: unknown } | null)?.code
  return typeof code === 'number' ? code : Number.NaN
}
