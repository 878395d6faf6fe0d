/** One page of a list, as offsets into bytes: items stay what the upstream wrote. */
import { GatewayError } from '../errors.ts'
import { settled } from '../protocol/envelope.ts'
import { colon, space, string } from '../protocol/grammar.ts'
import type { Message } from '../protocol/message.ts'
import { decodeString } from '../protocol/names.ts'
import { resultStart } from '../protocol/remove.ts'
import { skip } from '../protocol/skip.ts'
import { ownCopy } from '../protocol/write.ts'
import { type Hint, hintOf } from './hints.ts'

/** What is listed: tools, prompts, resources, resource templates. */
export interface Kind {
  readonly name: 'tools' | 'prompts' | 'resources' | 'templates'
  readonly method: string
  /** Member of the result. */
  readonly key: string
  /** Member that tells items apart. */
  readonly id: 'name' | 'uri' | 'uriTemplate'
  /** Capability of the servers that have it. */
  readonly capability: 'tools' | 'prompts' | 'resources'
}

export const kinds = {
  tools: { name: 'tools', method: 'tools/list', key: 'tools', id: 'name', capability: 'tools' },
  prompts: { name: 'prompts', method: 'prompts/list', key: 'prompts', id: 'name', capability: 'prompts' },
  resources: { name: 'resources', method: 'resources/list', key: 'resources', id: 'uri', capability: 'resources' },
  templates: {
    name: 'templates',
    method: 'resources/templates/list',
    key: 'resourceTemplates',
    id: 'uriTemplate',
    capability: 'resources'
  }
} as const satisfies Record<string, Kind>

export interface Item {
  /** Name, URI or template. */
  readonly id: string
  /** The page's bytes, shared by its items. Everything below is an offset into it. */
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  readonly idStart: number
  readonly idEnd: number
  /** Value of `description`; -1 when there is none. */
  readonly descriptionStart: number
  readonly descriptionEnd: number
}

export interface Page {
  /** Without entries that are no objects, or have no name. */
  readonly items: readonly Item[]
  /** The text of all of them, as it stands between the brackets. */
  readonly text: Buffer
  readonly size: number
  readonly nextCursor: string | undefined
  /** Undefined: it says nothing of that. */
  readonly hint: Hint | undefined
}

/** With what was changed in its result in its source: links leave tools out. Another id is of no matter here. */
const withOwnResult = (response: Message): Message =>
  response.edits.some(({ start }) => start >= (resultStart(response) ?? 0)) ? settled(response) : response

/** Throws a GatewayError `backend_invalid` when the response has no such list. */
export function pageOf(response: Message, kind: Kind, backend: string): Page {
  const { source, scanned } = withOwnResult(response)
  const i = scanned.top.keys.indexOf('result')
  const result = ownCopy(source.subarray(scanned.top.spans[2 * i], scanned.top.spans[2 * i + 1]))
  let items: Item[] | undefined
  let text: Buffer | undefined
  let nextCursor: string | undefined
  let ttlMs: string | undefined
  let cacheScope: string | undefined
  let at = result[0] === 0x7b ? space(result, 1) : -1
  while (at !== -1 && result[at] !== 0x7d) {
    const end = string(result, at)
    const key = decodeString(result, at, end)
    const from = colon(result, end)
    if (key === kind.key && result[from] === 0x5b) {
      items = []
      const end = itemsAt(result, from, Buffer.from(kind.id), items)
      text = result.subarray(from + 1, end - 1)
      at = next(result, end)
      continue
    }
    const to = skip(result, from)
    if (key === 'nextCursor' && result[from] === 0x22) nextCursor = decodeString(result, from, to)
    else if (key === 'ttlMs') ttlMs = result.toString('latin1', from, to)
    else if (key === 'cacheScope') cacheScope = result.toString('latin1', from, to)
    at = next(result, to)
  }
  if (items === undefined || text === undefined) {
    throw new GatewayError('backend_invalid', `backend "${backend}" answered ${kind.method} without a list`, {
      backend
    })
  }
  return { items, text, size: result.length, nextCursor, hint: hintOf(ttlMs, cacheScope) }
}

/** Returns where the array ends. */
function itemsAt(bytes: Buffer, start: number, idKey: Buffer, items: Item[]): number {
  let at = space(bytes, start + 1)
  while (bytes[at] !== 0x5d) {
    const item = bytes[at] === 0x7b ? itemOf(bytes, at, idKey) : undefined
    if (item !== undefined) items.push(item)
    at = next(bytes, item?.end ?? skip(bytes, at))
  }
  return at + 1
}

const description = Buffer.from('description')

/** One pass over the members of the object at `start`; undefined for one without a name. Lists are long: no names are built. */
function itemOf(bytes: Buffer, start: number, idKey: Buffer): Item | undefined {
  let idStart = -1
  let idEnd = -1
  let descriptionStart = -1
  let descriptionEnd = -1
  let at = space(bytes, start + 1)
  while (bytes[at] !== 0x7d) {
    const key = string(bytes, at)
    const from = colon(bytes, key)
    const to = skip(bytes, from)
    if (isKey(bytes, at, key, idKey)) {
      idStart = from
      idEnd = to
    } else if (isKey(bytes, at, key, description)) {
      descriptionStart = from
      descriptionEnd = to
    }
    at = next(bytes, to)
  }
  if (idStart === -1 || bytes[idStart] !== 0x22) return undefined
  const id = decodeString(bytes, idStart, idEnd)
  return { id, bytes, start, end: at + 1, idStart, idEnd, descriptionStart, descriptionEnd }
}

/** Whether the member name with its quotes from `start` to `end` is that one, however it is escaped. */
function isKey(bytes: Buffer, start: number, end: number, key: Buffer): boolean {
  if (end - start - 2 === key.length) {
    let i = 0
    while (i < key.length && bytes[start + 1 + i] === key[i]) i++
    if (i === key.length) return true
  }
  for (let i = start + 1; i < end; i++) if (bytes[i] === 0x5c) return decodeString(bytes, start, end) === String(key)
  return false
}

/** From the end of a value to the next one, or to what closes them. */
function next(bytes: Buffer, end: number): number {
  const at = space(bytes, end)
  return bytes[at] === 0x2c ? space(bytes, at + 1) : at
}
