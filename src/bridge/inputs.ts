/**
 * Requests of a legacy upstream as the members of `inputRequests`, and the members of `inputResponses` as their answers
 * (2026-07-28 basic/patterns/mrtr). Parameters and results pass as they were written.
 */
import { GatewayError } from '../errors.ts'
import { without } from '../protocol/edit.ts'
import { eachMember } from '../protocol/find.ts'
import { type Message, readMessage, textOf } from '../protocol/message.ts'
import { bytes } from '../protocol/write.ts'

/** One request of the upstream that waits for the client. */
export interface Input {
  readonly key: string
  /** JSON text. */
  readonly upstreamId: string
  readonly method: string
  /** The member of `inputRequests`, JSON text. */
  readonly text: string
}

/** What a client can be asked for. */
export const inputMethods: ReadonlySet<string> = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list'])

/** Members of the requests' params that this revision has no more. */
const legacyParams: ReadonlySet<string> = new Set(['elicitationId', 'task'])

/** What was read is as deep as any message. */
const anyDepth = 2_000

export function inputOf(asked: Message, key: string): Input {
  const method = asked.method!
  const { params } = asked.scanned
  const isOld = params?.keys.some(name => legacyParams.has(name)) === true
  const request = isOld ? readMessage(bytes(without(asked, params, legacyParams)), anyDepth) : asked
  const text = textOf(request.source, request.scanned.top, 'params')
  const member = text === undefined ? '' : `,"params":${text}`
  return { key, upstreamId: asked.id!, method, text: `{"method":${JSON.stringify(method)}${member}}` }
}

/** The answer to a request whose id is `id` (JSON text). */
export function inputRequired(id: string, inputs: Iterable<Pick<Input, 'key' | 'text'>>, state?: string): Message {
  const members = [...inputs].map(({ key, text }) => `${JSON.stringify(key)}:${text}`).join()
  const last = state === undefined ? '' : `,"requestState":${JSON.stringify(state)}`
  return readMessage(
    Buffer.from(
      `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"input_required","inputRequests":{${members}}${last}}}`
    ),
    anyDepth
  )
}

export interface Answered {
  readonly input: Input
  /** For the upstream. */
  readonly answer: Message
}

/** The inputs that a request brings answers to. Throws GatewayError `params`. */
export function answersIn({ id, source, scanned }: Message, open: ReadonlyMap<string, Input>): Answered[] {
  const { params } = scanned
  const i = params?.keys.indexOf('inputResponses') ?? -1
  if (i === -1) return []
  const start = params!.spans[2 * i]!
  if (source[start] === 0x6e) return []
  if (source[start] !== 0x7b) throw new GatewayError('params', 'params.inputResponses must be an object', { id })
  const answers = new Map<Input, Message>()
  eachMember(source, start, (key, from, end) => {
    const input = open.get(key)
    if (input === undefined || source[from] === 0x6e) return
    if (source[from] !== 0x7b) {
      throw new GatewayError('params', `params.inputResponses[${JSON.stringify(key)}] must be an object`, { id })
    }
    const result = source.toString('utf8', from, end)
    const text = `{"jsonrpc":"2.0","id":${input.upstreamId},"result":${result}}`
    answers.set(input, readMessage(Buffer.from(text), anyDepth))
  })
  return [...answers].map(([input, answer]) => ({ input, answer }))
}

/** What a server says that wants the user to open addresses first (2025-11-25 client/elicitation, "URL Elicitation Required Error"). */
const urlRequired = -32042

/** The same as inputs of this revision; the retry sends the request anew. Undefined: it says something else, or the client opens none. */
export function urlsRequired({ source, scanned }: Message, id: string, capabilities: string): Message | undefined {
  const text = textOf(source, scanned.top, 'error')
  if (text === undefined) return undefined
  const { elicitation } = JSON.parse(capabilities) as { elicitation?: { url?: unknown } | null }
  if (typeof elicitation?.url !== 'object') return undefined
  const { code, data } = JSON.parse(text) as { code?: unknown; data?: { elicitations?: unknown } | null }
  if (code !== urlRequired || !Array.isArray(data?.elicitations)) return undefined
  const inputs = (data.elicitations as ({ url?: unknown; message?: unknown } | null)[]).flatMap((asked, i) => {
    if (typeof asked?.url !== 'string' || typeof asked.message !== 'string') return []
    const params = { mode: 'url', message: asked.message, url: asked.url }
    return [{ key: `input-${i + 1}`, text: JSON.stringify({ method: 'elicitation/create', params }) }]
  })
  return inputs.length === 0 ? undefined : inputRequired(id, inputs)
}
