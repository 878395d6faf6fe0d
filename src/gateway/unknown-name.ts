/** What a backend says when a client calls by a name that it does not have, or not any more. */
import { editedParam } from '../protocol/edit.ts'
import { isError, type Message, textOf } from '../protocol/message.ts'
import { type Kind, kinds } from './list-items.ts'

/** Larger results are no refusals. */
const longest = 1_000

const refusal = /unknown|not found|no such|not exist/i
const isErrorKey = Buffer.from('"isError"')

/**
 * The list that the response shows to be old. There is no code for it: servers say it with -32602 or -32601, and those of SDK
 * v1 in the result of a tool, in words that have the name.
 */
export function refusedName(response: Message, request: Message): Kind | undefined {
  const kind = byMethod[request.method!]
  if (kind === undefined) return undefined
  const { source, scanned } = response
  if (!isError(response) && (source.length > longest || !source.includes(isErrorKey))) return undefined
  const said = textOf(source, scanned.top, 'error') ?? textOf(source, scanned.top, 'result')!
  const name = editedParam(request, 'name')
  return name !== undefined && refusal.test(said) && said.includes(name.slice(1, -1)) ? kind : undefined
}

const byMethod: Readonly<Record<string, Kind>> = { 'tools/call': kinds.tools, 'prompts/get': kinds.prompts }
