/** How a response tells that something went wrong: as a JSON-RPC error, or in the result of a tool (server/tools, "Error Handling"). */
import { type Message, textOf } from './message.ts'
import { ScanError, scan } from './scan.ts'

export interface Failure {
  readonly outcome: 'rpc_error' | 'tool_error'
  /** The code of the error; for a tool `tool_error`. */
  readonly code: string
  /** `error.data.reason` of an error of our own. */
  readonly reason?: string
}

/** Undefined for a result that is none. */
export function failureOf({ source, scanned }: Message): Failure | undefined {
  const text = textOf(source, scanned.top, 'error')
  if (text !== undefined) {
    const error = JSON.parse(text) as { code?: unknown; data?: { reason?: unknown } | null } | null
    const reason = error?.data?.reason
    return { outcome: 'rpc_error', code: String(error?.code), ...(typeof reason === 'string' ? { reason } : {}) }
  }
  return source.includes(isErrorKey) && isToolError({ source, scanned }) ? toolError : undefined
}

const toolError: Failure = { outcome: 'tool_error', code: 'tool_error' }

/** Most results do not have it: a search of the bytes is cheaper than a look at the members. */
const isErrorKey = Buffer.from('"isError"')

/** As deep as any message that was read. */
const anyDepth = 2_000

function isToolError({ source, scanned: { top } }: Pick<Message, 'source' | 'scanned'>): boolean {
  const i = top.keys.indexOf('result')
  if (i === -1) return false
  const result = source.subarray(top.spans[2 * i], top.spans[2 * i + 1])
  try {
    const found = scan(result, anyDepth)
    return found.kind === 'object' && textOf(result, found.object.top, 'isError') === 'true'
  } catch (error) {
    if (error instanceof ScanError) return false
    throw error
  }
}
