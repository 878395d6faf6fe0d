/** A result that asks for input (2026-07-28 basic/patterns/mrtr), read with its texts as they are. */
import { find } from '../protocol/find.ts'
import { type Message, readMessage } from '../protocol/message.ts'
import { resultStart } from '../protocol/remove.ts'
import { type Members, scan } from '../protocol/scan.ts'

export interface InputRequired {
  /** A request for each key, in the order written. Ids are the asker's to give. */
  readonly requests: readonly InputRequest[]
  /** JSON text of `requestState`. */
  readonly state: string | undefined
}

export interface InputRequest {
  /** JSON text. */
  readonly key: string
  readonly method: string
  /** A JSON-RPC request without its id: `message('7')` gives it one. */
  message(id: string): Message
}

const methods = ['elicitation/create', 'sampling/createMessage', 'roots/list']

/** Deeper than whatever the message was read with. */
const anyDepth = 2_000

/** Throws an Error that says what is wrong with it. */
export function readInputRequired(response: Message): InputRequired {
  const { source } = response
  const start = resultStart(response)!
  const stateSpan = find(source, start, ['requestState'])
  const state = stateSpan && source.toString('utf8', stateSpan.start, stateSpan.end)
  if (state !== undefined && !state.startsWith('"')) throw new Error('requestState is no string')
  const inputs = find(source, start, ['inputRequests'])
  const requests = inputs === undefined ? [] : requestsIn(source.subarray(inputs.start, inputs.end))
  if (requests.length === 0 && state === undefined) throw new Error('it asks for nothing')
  return { requests, state }
}

function requestsIn(text: Buffer): InputRequest[] {
  const top = objectIn(text)
  if (top === undefined) throw new Error('inputRequests is no object')
  return top.keys.map((key, i) => requestIn(key, text.subarray(top.spans[2 * i], top.spans[2 * i + 1])))
}

function requestIn(key: string, text: Buffer): InputRequest {
  const { method, params } = (JSON.parse(text.toString()) ?? {}) as { method?: unknown; params?: unknown }
  if (typeof method !== 'string' || !methods.includes(method))
    throw new Error('a request for input has an unknown method')
  if (params !== undefined && (typeof params !== 'object' || params === null)) throw new Error('params is no object')
  const span = params === undefined ? undefined : find(text, 0, ['params'])!
  const rest = span === undefined ? '' : `,"params":${text.toString('utf8', span.start, span.end)}`
  return {
    key: JSON.stringify(key),
    method,
    message: id => readMessage(Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"${method}"${rest}}`), anyDepth)
  }
}

function objectIn(text: Buffer): Members | undefined {
  const found = scan(text, anyDepth)
  return found.kind === 'object' ? found.object.top : undefined
}
