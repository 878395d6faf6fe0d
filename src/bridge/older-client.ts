/**
 * What a client of an older revision cannot take becomes what it can (requirements, section 2.1; decisions: "Client cannot
 * take a content type"). Content types are closed unions; objects are open, so that unknown fields stay. Only the blocks
 * concerned are replaced, everything else passes as the bytes it was.
 */
import { splice } from '../protocol/edit.ts'
import { type Message, stringOf, textOf } from '../protocol/message.ts'
import { type Members, ScanError, scan } from '../protocol/scan.ts'
import { hasAudio, hasResourceLink, hasStructuredContent } from '../protocol/version.ts'

/** The response of an upstream to `method`, for a client that speaks `version`. */
export function forOlderClient(response: Message, method: string, version: string): Message {
  if (hasResourceLink(version)) return response
  try {
    const result = member(response.source, response.scanned.top, 0, 'result')
    if (result === undefined) return response
    if (method === 'tools/call') return toolResult(response, result, version)
    if (method === 'prompts/get') return promptResult(response, result, version)
  } catch (error) {
    // A result that repeats a member of its content is passed on as it is.
    if (!(error instanceof ScanError)) throw error
  }
  return response
}

/** An object or array in the response: its members' spans count from `offset`. */
interface Part {
  readonly text: Buffer
  readonly offset: number
}

/** Deeper than whatever the message was read with. */
const anyDepth = 2_000

function member(text: Buffer, members: Members, offset: number, key: string): Part | undefined {
  const i = members.keys.indexOf(key)
  if (i === -1) return undefined
  const start = members.spans[2 * i]!
  return { text: text.subarray(start, members.spans[2 * i + 1]!), offset: offset + start }
}

function objectOf(part: Part): Members | undefined {
  const found = scan(part.text, anyDepth)
  return found.kind === 'object' ? found.object.top : undefined
}

/** The objects in an array. */
function objectsIn(array: Part | undefined): { readonly part: Part; readonly members: Members }[] {
  if (array === undefined) return []
  const found = scan(array.text, anyDepth)
  if (found.kind !== 'array') return []
  const objects: { part: Part; members: Members }[] = []
  for (let i = 0; i < found.spans.length; i += 2) {
    const part = {
      text: array.text.subarray(found.spans[i], found.spans[i + 1]),
      offset: array.offset + found.spans[i]!
    }
    const members = objectOf(part)
    if (members !== undefined) objects.push({ part, members })
  }
  return objects
}

function toolResult(response: Message, result: Part, version: string): Message {
  const members = objectOf(result)
  if (members === undefined) return response
  let message = response
  let hasText = false
  const content = member(result.text, members, result.offset, 'content')
  for (const [i, block] of objectsIn(content).entries()) {
    hasText ||= stringOf(block.part.text, block.members, 'type') === 'text'
    message = withBlock(message, block.part, block.members, i, version)
  }
  const structured = textOf(result.text, members, 'structuredContent')
  if (structured === undefined || hasText || hasStructuredContent(version)) return message
  const block = `{"type":"text","text":${JSON.stringify(structured)}}`
  if (content === undefined) {
    const at = result.offset + 1
    return splice(message, { start: at, end: at, text: `"content":[${block}],` })
  }
  if (content.text[0] !== 0x5b) return message
  const at = content.offset + 1
  const empty = /^\[\s*\]$/.test(content.text.toString('latin1'))
  return splice(message, { start: at, end: at, text: empty ? block : `${block},` })
}

function promptResult(response: Message, result: Part, version: string): Message {
  const members = objectOf(result)
  const messages = members === undefined ? undefined : member(result.text, members, result.offset, 'messages')
  let message = response
  for (const [i, { part, members: entry }] of objectsIn(messages).entries()) {
    const content = member(part.text, entry, part.offset, 'content')
    const block = content === undefined ? undefined : objectOf(content)
    if (block !== undefined) message = withBlock(message, content!, block, i, version)
  }
  return message
}

/** Audio for 2024-11-05 becomes an embedded resource, a resource link before 2025-06-18 a text. `i`: place in the list. */
function withBlock(message: Message, part: Part, block: Members, i: number, version: string): Message {
  const type = stringOf(part.text, block, 'type')
  let text: string | undefined
  if (type === 'audio' && !hasAudio(version)) text = audioAsResource(part.text, block, i)
  if (type === 'resource_link' && !hasResourceLink(version)) text = linkAsText(part.text, block)
  if (text === undefined) return message
  return splice(message, { start: part.offset + block.start, end: part.offset + block.end, text })
}

function audioAsResource(text: Buffer, block: Members, i: number): string {
  const mimeType = textOf(text, block, 'mimeType') ?? '"application/octet-stream"'
  const data = textOf(text, block, 'data') ?? '""'
  const resource = `{"uri":"gateway:audio/${i}","mimeType":${mimeType},"blob":${data}}`
  return `{"type":"resource","resource":${resource}${common(text, block)}}`
}

function linkAsText(text: Buffer, block: Members): string {
  const words = `${stringOf(text, block, 'name') ?? 'resource'}: ${stringOf(text, block, 'uri') ?? ''}`
  return `{"type":"text","text":${JSON.stringify(words)}${common(text, block)}}`
}

/** The members that every block may have. */
const common = (text: Buffer, block: Members): string =>
  ['annotations', '_meta']
    .map(key => [key, textOf(text, block, key)] as const)
    .map(([key, json]) => (json === undefined ? '' : `,"${key}":${json}`))
    .join('')
