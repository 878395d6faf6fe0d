/** Durations of operations with the labels of the OpenTelemetry MCP conventions; labels are made once for each series. */
import type { Durations, Series } from './durations.ts'
import { errorLabels, methodLabel, Names, other } from './labels.ts'

/** Over that names are not told apart any more. */
const maxSeries = 5_000

export interface Operation {
  readonly method: string
  readonly name: string | undefined
  readonly backend: string | undefined
  /** Value of the label that the histogram has besides those of the conventions' operations. */
  readonly extra: string | undefined
  /** A JSON-RPC code as text, a stable code, `tool_error`, `cancelled`; undefined for a success. */
  readonly error: string | undefined
}

export interface OperationsOptions {
  readonly durations: Durations
  readonly extra: 'backend' | 'mcp_protocol_version'
  readonly fixed: Readonly<Record<string, string>>
  /** The conventions let servers leave the client's own mistakes without `error.type`. */
  readonly forgiving: boolean
}

export class Operations {
  readonly #options: OperationsOptions
  readonly #names = new Names()
  readonly #series = new Map<string, Series>()
  /** The last success and its series: calls come in runs of the same, and the key of a series is a long string. */
  #last: (Operation & { readonly series: Series }) | undefined

  constructor(options: OperationsOptions) {
    this.#options = options
  }

  record(operation: Operation, ms: number): void {
    const last = this.#last
    if (last !== undefined && isSame(last, operation)) {
      last.series.observe(ms)
      return
    }
    const series = this.#seriesOf(operation)
    series.observe(ms)
    if (operation.error === undefined) this.#last = { ...operation, series }
  }

  #seriesOf({ method: given, name: asked, backend, extra, error }: Operation): Series {
    const method = methodLabel(given)
    const named = asked !== undefined && (method === 'tools/call' || method === 'prompts/get')
    const name = named ? this.#names.label(backend ?? '', asked, error === undefined) : undefined
    const failure = error === undefined ? undefined : errorLabels(error)
    const type = failure?.ofTheClient && this.#options.forgiving ? undefined : failure?.type
    return this.#find(method, name, extra, type, failure?.code)
  }

  #find(
    method: string,
    name: string | undefined,
    extra: string | undefined,
    type: string | undefined,
    code: string | undefined
  ): Series {
    const key = `${method}\0${name}\0${extra}\0${type}\0${code}`
    const found = this.#series.get(key)
    if (found !== undefined) return found
    if (this.#series.size >= maxSeries && name !== undefined && name !== other) {
      return this.#find(method, other, extra, type, code)
    }
    const tool = method === 'tools/call'
    const series = this.#options.durations.series({
      mcp_method_name: method,
      gen_ai_operation_name: tool ? 'execute_tool' : undefined,
      gen_ai_tool_name: tool ? name : undefined,
      gen_ai_prompt_name: tool ? undefined : name,
      error_type: type,
      rpc_response_status_code: code,
      [this.#options.extra]: extra,
      ...this.#options.fixed
    })
    this.#series.set(key, series)
    return series
  }
}

const isSame = (a: Operation, b: Operation): boolean =>
  a.method === b.method && a.name === b.name && a.backend === b.backend && a.extra === b.extra && a.error === b.error
