/**
 * Which arguments of which tools are mirrored in headers, learnt from the lists of tools that come by (2026-07-28
 * basic/transports/streamable-http, "Custom Headers from Tool Parameters"). Tools whose annotations are not valid are left
 * out of those lists.
 */
import { splice } from '../../protocol/edit.ts'
import { elements, find, type Span } from '../../protocol/find.ts'
import { isError, type Message } from '../../protocol/message.ts'
import { InvalidParamHeaders, type ParamHeader, paramHeaders } from '../../protocol/param-headers.ts'
import { facts } from '../../telemetry/events.ts'

/** Tools with such headers that are kept of one backend. */
const maxTools = 10_000

const annotation = Buffer.from('"x-mcp-header"')
const none: readonly ParamHeader[] = []

export class ToolHeaders {
  readonly #backend: string
  readonly #byTool = new Map<string, readonly ParamHeader[]>()
  readonly #told = new Set<string>()
  /** A whole list was seen: tools that are not here have none. */
  #complete = false

  constructor(backend: string) {
    this.#backend = backend
  }

  /** Undefined: nothing is known of this tool, a list has to be read. */
  of(tool: string): readonly ParamHeader[] | undefined {
    return this.#byTool.get(tool) ?? (this.#complete ? none : undefined)
  }

  /** What was learnt does not hold any more. */
  forget(): void {
    this.#byTool.clear()
    this.#complete = false
  }

  /** The pages learnt were the whole list. */
  seenAll(): void {
    this.#complete = true
  }

  /** A page of a list as it is to be shown. */
  learn(page: Message): Message {
    if (isError(page)) return page
    if (!page.source.includes(annotation) && this.#byTool.size === 0) return page
    const { keys, spans } = page.scanned.top
    const tools = find(page.source, spans[2 * keys.indexOf('result')]!, ['tools'])
    const all = tools === undefined ? undefined : elements(page.source, tools.start)
    if (tools === undefined || all === undefined) return page
    const kept = all.filter(span => this.#learnOne(page.source, span))
    if (kept.length === all.length) return page
    const text = `[${kept.map(({ start, end }) => page.source.toString('utf8', start, end)).join(',')}]`
    return splice(page, { start: tools.start, end: tools.end, text })
  }

  /** Whether the tool is to be shown. */
  #learnOne(source: Buffer, { start, end }: Span): boolean {
    const bytes = source.subarray(start, end)
    if (!bytes.includes(annotation) && this.#byTool.size === 0) return true
    const tool = JSON.parse(bytes.toString()) as { name?: unknown; inputSchema?: unknown } | null
    const name = tool?.name
    if (typeof name !== 'string') return true
    try {
      const headers = paramHeaders(tool?.inputSchema)
      if (headers.length === 0) this.#byTool.delete(name)
      else if (this.#byTool.size < maxTools) this.#byTool.set(name, headers)
      return true
    } catch (error) {
      if (!(error instanceof InvalidParamHeaders)) throw error
      this.#byTool.delete(name)
      this.#tell(name, error.message)
      return false
    }
  }

  #tell(tool: string, reason: string): void {
    const text = `the tool ${JSON.stringify(tool.slice(0, 80))} is left out: ${reason}`
    if (this.#told.has(text) || this.#told.size >= maxTools) return
    this.#told.add(text)
    facts.notice.publish({ level: 'warn', text, backend: this.#backend })
  }
}
