/** Answers of modern servers as legacy clients know them (decisions: "Errors to a legacy client", "Client cannot take a content type"). */
import { splice } from '../protocol/edit.ts'
import { settled } from '../protocol/envelope.ts'
import { elements, find } from '../protocol/find.ts'
import { isError, type Message, stringParam } from '../protocol/message.ts'
import { decodeString } from '../protocol/names.ts'
import { resultStart, without } from '../protocol/remove.ts'
import { withoutResultType } from '../protocol/result-type.ts'

/** A complete result, or an error. */
export function toLegacyAnswer(response: Message, request: Message): Message {
  if (isError(response)) return request.method === 'resources/read' ? notFound(response, request) : response
  const changed = inside(response, request.method!)
  // Members that stand side by side go one after the other.
  return withoutResultType(changed === response ? response : settled(changed))
}

function inside(response: Message, method: string): Message {
  if (method === 'tools/call') return toolResult(response)
  return method === 'tools/list' ? toolList(response) : response
}

const invalidParams = '-32602'
const resourceNotFound = '-32002'

/** -32602 about the very resource that was asked for says that there is none. */
function notFound(response: Message, request: Message): Message {
  const { source, scanned } = response
  const start = scanned.top.spans[2 * scanned.top.keys.indexOf('error')]!
  const code = find(source, start, ['code'])
  const uri = find(source, start, ['data', 'uri'])
  if (code === undefined || source.toString('latin1', code.start, code.end) !== invalidParams) return response
  if (uri === undefined || source[uri.start] !== 0x22) return response
  if (decodeString(source, uri.start, uri.end) !== stringParam(request, 'uri')) return response
  return splice(response, { ...code, text: resourceNotFound })
}

/** Structured content is an object; what is none goes, and stays as a text. */
function toolResult(response: Message): Message {
  const { source } = response
  const start = resultStart(response)!
  const structured = find(source, start, ['structuredContent'])
  if (structured === undefined || source[structured.start] === 0x7b) return response
  const answer = without(response, start, ['structuredContent'])
  const content = find(source, start, ['content'])
  const blocks = content === undefined ? undefined : elements(source, content.start)
  if (content === undefined || blocks === undefined) return answer
  const isText = ({ start }: { start: number }): boolean => {
    const type = find(source, start, ['type'])
    return type !== undefined && source.toString('latin1', type.start, type.end) === '"text"'
  }
  if (blocks.some(isText)) return answer
  const block = JSON.stringify({ type: 'text', text: source.toString('utf8', structured.start, structured.end) })
  const at = content.start + 1
  return splice(answer, { start: at, end: at, text: blocks.length === 0 ? block : `${block},` })
}

/** Output schemas are those of objects: older clients take no list with another one. */
function toolList(response: Message): Message {
  const { source } = response
  if (!source.includes(outputSchema)) return response
  const tools = find(source, resultStart(response)!, ['tools'])
  const all = tools === undefined ? undefined : elements(source, tools.start)
  let answer = response
  for (const { start } of all ?? []) {
    const type = find(source, start, ['outputSchema', 'type'])
    if (type !== undefined && source.toString('latin1', type.start, type.end) === '"object"') continue
    answer = without(answer, start, ['outputSchema'])
  }
  return answer
}

const outputSchema = Buffer.from('"outputSchema"')
