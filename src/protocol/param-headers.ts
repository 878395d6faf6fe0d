/** Parameters of tools that are mirrored in headers by `x-mcp-header` (2026-07-28 basic/transports/streamable-http, "Custom Headers from Tool Parameters"). */

export interface ParamHeader {
  /** As the schema has it: the header is `Mcp-Param-<name>`, in any case. */
  readonly name: string
  /** From the arguments to the value. */
  readonly path: readonly string[]
  readonly type: 'string' | 'integer' | 'boolean'
}

/** The annotations of a tool are not valid: the tool is to be left out (the message says why). */
export class InvalidParamHeaders extends Error {}

/** What comes before the name. */
export const paramPrefix = 'mcp-param-'

const annotation = 'x-mcp-header'

/** RFC 9110, section 5.6.2. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Schemas nested deeper than this are not looked through. */
const deepest = 64

/** How a tool that has such parameters can be told from its bytes. */
export const annotationMark = '"x-mcp-header"'

/** Of a tool, JSON text. Throws {@link InvalidParamHeaders}. */
export function headersOfTool(tool: string): readonly ParamHeader[] {
  if (!tool.includes(annotationMark)) return []
  return paramHeaders((JSON.parse(tool) as { inputSchema?: unknown } | null)?.inputSchema)
}

/** The annotated parameters of an `inputSchema`. Throws {@link InvalidParamHeaders}. */
export function paramHeaders(inputSchema: unknown): readonly ParamHeader[] {
  const found: ParamHeader[] = []
  walk(inputSchema, [], true, found, 0)
  const names = new Set<string>()
  for (const { name } of found) {
    const lower = name.toLowerCase()
    if (names.has(lower)) throw new InvalidParamHeaders(`two parameters have the header ${name}`)
    names.add(lower)
  }
  return found
}

/** The text that the header must carry (not encoded); undefined when there is to be none. */
export function headerValue({ path }: ParamHeader, args: unknown): string | undefined {
  let value = args
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined
}

/** `direct`: reached from the root by `properties` alone. */
function walk(schema: unknown, path: readonly string[], direct: boolean, found: ParamHeader[], depth: number): void {
  if (depth > deepest) throw new InvalidParamHeaders('the schema is nested too deep')
  if (Array.isArray(schema)) {
    for (const part of schema) walk(part, path, false, found, depth + 1)
    return
  }
  if (!isObject(schema)) return
  if (Object.hasOwn(schema, annotation)) found.push(annotated(schema, path, direct))
  for (const [key, value] of Object.entries(schema)) {
    if (literals.has(key)) continue
    if (!byName.has(key) || !isObject(value)) {
      walk(value, path, false, found, depth + 1)
      continue
    }
    // Names of parameters, which may be called anything.
    for (const [name, part] of Object.entries(value)) {
      walk(part, [...path, name], direct && key === 'properties', found, depth + 1)
    }
  }
}

/** Members whose values are no schemas. */
const literals = new Set(['const', 'default', 'enum', 'examples', 'example', 'required', annotation])

/** Members that hold schemas by name. */
const byName = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

function annotated(schema: Record<string, unknown>, path: readonly string[], direct: boolean): ParamHeader {
  const name = schema[annotation]
  const where = path.length === 0 ? 'the root' : `"${path.join('.')}"`
  if (typeof name !== 'string' || !token.test(name)) {
    throw new InvalidParamHeaders(`${annotation} of ${where} is no header name`)
  }
  if (!direct || path.length === 0) {
    throw new InvalidParamHeaders(`${annotation} "${name}" stands where no single parameter is`)
  }
  const { type } = schema
  if (type !== 'string' && type !== 'integer' && type !== 'boolean') {
    throw new InvalidParamHeaders(`${annotation} "${name}": ${where} is no string, integer or boolean`)
  }
  return { name, path, type }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
