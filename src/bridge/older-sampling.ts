/**
 * Sampling messages whose content is an array exist from 2025-11-25 on (R112). Towards an older peer an array of one block
 * is unwrapped; with more the message cannot be put, for no block may be dropped.
 */
import { splice, withParam } from '../protocol/edit.ts'
import { makeError } from '../protocol/make.ts'
import { type Message, textParam } from '../protocol/message.ts'
import { scan } from '../protocol/scan.ts'
import { hasSamplingArrays } from '../protocol/version.ts'

const anyDepth = 2_000

/** The request as the client can take it; undefined when it cannot. */
export function samplingForOlderClient(request: Message, version: string): Message | undefined {
  if (hasSamplingArrays(version) || request.method !== 'sampling/createMessage') return request
  const text = textParam(request, 'messages')
  if (text === undefined) return request
  const bytes = Buffer.from(text)
  const found = scan(bytes, anyDepth)
  if (found.kind !== 'array') return request
  let unwrapped = ''
  let at = 0
  for (let i = 0; i < found.spans.length; i += 2) {
    const content = arrayContent(bytes, found.spans[i]!, found.spans[i + 1]!)
    if (content === undefined) continue
    if (content.blocks.length !== 1) return undefined
    unwrapped += bytes.toString('utf8', at, content.start) + content.blocks[0]
    at = content.end
  }
  return at === 0 ? request : withParam(request, 'messages', unwrapped + bytes.toString('utf8', at))
}

/** The client's answer as the upstream can take it: an error when it cannot. */
export function sampledForOlderServer(response: Message, version: string): Message {
  if (hasSamplingArrays(version)) return response
  const { keys, spans } = response.scanned.top
  const i = keys.indexOf('result')
  const content = i === -1 ? undefined : arrayContent(response.source, spans[2 * i]!, spans[2 * i + 1]!)
  if (content === undefined) return response
  const { start, end, blocks } = content
  if (blocks.length === 1) return splice(response, { start, end, text: blocks[0]! })
  return makeError(
    response.id,
    -32602,
    `the client answered with ${blocks.length} blocks, which ${version} has no place for`
  )
}

interface ArrayContent {
  readonly start: number
  readonly end: number
  readonly blocks: readonly string[]
}

/** The `content` of the object from `from` to `to`, when it is an array. */
function arrayContent(text: Buffer, from: number, to: number): ArrayContent | undefined {
  const message = scan(text.subarray(from, to), anyDepth)
  if (message.kind !== 'object') return undefined
  const { keys, spans } = message.object.top
  const i = keys.indexOf('content')
  if (i === -1) return undefined
  const start = from + spans[2 * i]!
  const end = from + spans[2 * i + 1]!
  const array = text.subarray(start, end)
  const found = scan(array, anyDepth)
  if (found.kind !== 'array') return undefined
  const blocks: string[] = []
  for (let k = 0; k < found.spans.length; k += 2)
    blocks.push(array.toString('utf8', found.spans[k], found.spans[k + 1]))
  return { start, end, blocks }
}
