/** One page of a list, as offsets into bytes: items stay what the upstream wrote. */
import { GatewayError } from '../errors.ts'
import { colon, space, string, value } from '../protocol/grammar.ts'
import type { Message } from '../protocol/message.ts'
import { decodeString } from '../protocol/names.ts'
import { ownCopy } from '../protocol/write.ts'

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
  readonly items: readonly Item[]
  /** Entries that are no objects, or have no name. */
  readonly broken: number
  readonly size: number
  readonly nextCursor: string | undefined
}

/** Deeper than whatever the message was read with. */
const anyDepth = 2_000

/** Throws a GatewayError `backend_invalid` when the response has no such list. */
export function pageOf(response: Message, kind: Kind, backend: string): Page {
  const { source, scanned } = response
  const i = scanned.top.keys.indexOf('result')
  const start = scanned.top.spans[2 * i]!
  const result = source[start] === 0x7b ? ownCopy(source.subarray(start, scanned.top.spans[2 * i + 1])) : empty
  let list = -1
  let nextCursor: string | undefined
  if (result.length > 0) {
    members(result, 0, (key, from, to) => {
      if (key === kind.key && result[from] === 0x5b) list = from
      if (key === 'nextCursor' && result[from] === 0x22) nextCursor = decodeString(result, from, to)
    })
  }
  if (list === -1) {
    throw new GatewayError('backend_invalid', `backend "${backend}" answered ${kind.method} without a list`, {
      backend
    })
  }
  const items: Item[] = []
  let broken = 0
  elements(result, list, (from, to) => {
    const item = result[from] === 0x7b ? itemOf(result, from, to, kind.id) : undefined
    if (item === undefined) broken++
    else items.push(item)
  })
  return { items, broken, size: result.length, nextCursor }
}

function itemOf(bytes: Buffer, start: number, end: number, idKey: string): Item | undefined {
  let [id, idStart, idEnd, descriptionStart, descriptionEnd]: [string | undefined, number, number, number, number] = [
    undefined,
    -1,
    -1,
    -1,
    -1
  ]
  members(bytes, start, (key, from, to) => {
    if (key === idKey && bytes[from] === 0x22) {
      id = decodeString(bytes, from, to)
      idStart = from
      idEnd = to
    } else if (key === 'description') {
      descriptionStart = from
      descriptionEnd = to
    }
  })
  if (id === undefined) return undefined
  return { id, bytes, start, end, idStart, idEnd, descriptionStart, descriptionEnd }
}

const empty = Buffer.alloc(0)

/** Each member of the object at `start`: its name, and where its value stands. The text is known to be JSON. */
export function members(bytes: Buffer, start: number, each: (key: string, from: number, to: number) => void): void {
  let at = space(bytes, start + 1)
  while (bytes[at] === 0x22) {
    const end = string(bytes, at)
    const from = colon(bytes, end)
    const to = value(bytes, from, 1, anyDepth)
    each(decodeString(bytes, at, end), from, to)
    at = space(bytes, to)
    if (bytes[at] === 0x2c) at = space(bytes, at + 1)
  }
}

function elements(bytes: Buffer, start: number, each: (from: number, to: number) => void): void {
  let at = space(bytes, start + 1)
  while (bytes[at] !== 0x5d) {
    const to = value(bytes, at, 1, anyDepth)
    each(at, to)
    at = space(bytes, to)
    if (bytes[at] === 0x2c) at = space(bytes, at + 1)
  }
}
