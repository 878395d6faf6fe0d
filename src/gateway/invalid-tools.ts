/** Lists of tools without those whose `x-mcp-header` is not valid: clients would leave them out (2026-07-28 server/tools, "x-mcp-header"). */
import type { MessageSource } from '../exchanges/source.ts'
import { splice } from '../protocol/edit.ts'
import { elements, find, type Span } from '../protocol/find.ts'
import { isError, type Message } from '../protocol/message.ts'
import { annotationMark, headersOfTool, InvalidParamHeaders } from '../protocol/param-headers.ts'

/** Hears the name of a tool that is left out, and why. */
type Tell = (name: string, reason: string) => void

export const withoutInvalid = (source: MessageSource, tell: Tell): MessageSource => ({
  async next() {
    const message = await source.next()
    return message?.kind !== 'response' || isError(message) ? message : filtered(message, tell)
  }
})

/** What a list becomes, by its bytes: those of a merged one are given out many times. Undefined: it is as it should be. */
const known = new WeakMap<Buffer, (Span & { readonly text: string }) | undefined>()

function filtered(response: Message, tell: Tell): Message {
  const { source } = response
  if (!known.has(source)) known.set(source, source.includes(annotationMark) ? valid(response, tell) : undefined)
  const edit = known.get(source)
  return edit === undefined ? response : splice(response, edit)
}

function valid({ source, scanned: { top } }: Message, tell: Tell): (Span & { readonly text: string }) | undefined {
  const list = find(source, top.spans[2 * top.keys.indexOf('result')]!, ['tools'])
  const tools = list && elements(source, list.start)
  if (list === undefined || tools === undefined) return undefined
  const texts = tools.map(({ start, end }) => source.toString('utf8', start, end))
  const kept = texts.filter(text => isValid(text, tell))
  return kept.length === texts.length ? undefined : { ...list, text: `[${kept.join(',')}]` }
}

function isValid(tool: string, tell: Tell): boolean {
  try {
    headersOfTool(tool)
    return true
  } catch (error) {
    if (!(error instanceof InvalidParamHeaders)) throw error
    const { name } = JSON.parse(tool) as { name?: unknown }
    tell(String(name), error.message)
    return false
  }
}
