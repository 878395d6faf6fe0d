/**
 * Sampling messages whose content is an array exist from 2025-11-25 on (R112). Towards an older client an array of one block
 * is unwrapped; with more the request cannot be put, for no block may be dropped.
 */
import { withParam } from '../protocol/edit.ts'
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

interface ArrayContent {
  readonly start: number
  readonly end: number
  readonly blocks: readonly string[]
}

/** The `content` of the message from `from` to `to`, when it is an array. */
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
