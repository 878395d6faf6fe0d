/**
 * Sampling messages whose content is an array exist from 2025-11-25 on, audio from 2025-03-26 on (R90, R112). Towards an
 * older peer an array of one block is unwrapped; what cannot be said without dropping a block is not said.
 */
import { splice, withParam } from '../protocol/edit.ts'
import { makeError } from '../protocol/make.ts'
import { type Message, stringOf, textParam } from '../protocol/message.ts'
import { type Scan, ScanError, scan } from '../protocol/scan.ts'
import { hasAudio, hasSamplingArrays } from '../protocol/version.ts'

/** The request as the client can take it; undefined when it cannot. */
export function samplingForOlderClient(request: Message, version: string): Message | undefined {
  if (hasSamplingArrays(version) || request.method !== 'sampling/createMessage') return request
  const text = textParam(request, 'messages')
  const bytes = Buffer.from(text ?? '')
  const found = scanned(bytes)
  if (found?.kind !== 'array') return request
  let unwrapped = ''
  let at = 0
  for (let i = 0; i < found.spans.length; i += 2) {
    const content = contentOf(bytes, found.spans[i]!, found.spans[i + 1]!)
    if (content === undefined) continue
    const { start, end, blocks } = content
    if (blocks.length !== 1 || (!hasAudio(version) && isAudio(blocks[0]!))) return undefined
    unwrapped += bytes.toString('utf8', at, start) + blocks[0]
    at = end
  }
  return at === 0 ? request : withParam(request, 'messages', unwrapped + bytes.toString('utf8', at))
}

/** The client's answer as the upstream can take it: an error when it cannot. */
export function sampledForOlderServer(response: Message, version: string): Message {
  if (hasSamplingArrays(version)) return response
  const { keys, spans } = response.scanned.top
  const i = keys.indexOf('result')
  const content = i === -1 ? undefined : contentOf(response.source, spans[2 * i]!, spans[2 * i + 1]!)
  if (content === undefined) return response
  const { start, end, blocks } = content
  if (blocks.length === 1) return splice(response, { start, end, text: blocks[0]! })
  const text = `the client answered with ${blocks.length} blocks of content, which ${version} has no place for`
  return makeError(response.id, -32602, text)
}

interface Content {
  readonly start: number
  readonly end: number
  /** JSON texts; one when the content is no array. */
  readonly blocks: readonly string[]
}

/** The `content` of the object from `from` to `to`. */
function contentOf(text: Buffer, from: number, to: number): Content | undefined {
  const message = scanned(text.subarray(from, to))
  if (message?.kind !== 'object') return undefined
  const { keys, spans } = message.object.top
  const i = keys.indexOf('content')
  if (i === -1) return undefined
  const start = from + spans[2 * i]!
  const end = from + spans[2 * i + 1]!
  const array = text.subarray(start, end)
  const found = scanned(array)
  if (found?.kind !== 'array') return { start, end, blocks: [array.toString()] }
  const blocks: string[] = []
  for (let k = 0; k < found.spans.length; k += 2)
    blocks.push(array.toString('utf8', found.spans[k], found.spans[k + 1]))
  return { start, end, blocks }
}

function isAudio(block: string): boolean {
  const bytes = Buffer.from(block)
  const found = scanned(bytes)
  return found?.kind === 'object' && stringOf(bytes, found.object.top, 'type') === 'audio'
}

/** Deeper than whatever the message was read with. */
const anyDepth = 2_000

/** Undefined for what is not judged here: an object that has a member twice. */
function scanned(text: Buffer): Scan | undefined {
  try {
    return scan(text, anyDepth)
  } catch (error) {
    if (error instanceof ScanError) return undefined
    throw error
  }
}
