import { jsonSchema } from '../../src/config/json-schema.ts'

interface Schema {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly string[]
  readonly pattern?: string
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | false
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
}

/** One setting of the config file. */
export interface Key {
  /** `server.limits.body`, `backends.<name>.url`, `routes.<path>.backends`. */
  readonly path: string
  /** In the words of docs/configuration.md. */
  readonly type: string
  /** JSON value; undefined: there is none. */
  readonly fallback: unknown
  readonly required: boolean
  /** Kinds of backend that have it; undefined outside of `backends`. */
  readonly kinds?: readonly string[]
}

const words = (list: readonly string[]): string => {
  const quoted = list.map(word => `\`${word}\``)
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
}

const isReference = ({ type, pattern }: Schema): boolean => type === 'string' && pattern === '\\$\\{'

const typeOf = (schema: Schema): string => {
  const alternatives = schema.anyOf?.filter(one => !isReference(one))
  if (alternatives !== undefined) {
    const [only] = alternatives
    return alternatives.length === 1 ? typeOf(only!) : alternatives.map(typeOf).join(', or ')
  }
  if (schema.const !== undefined) return `\`${schema.const}\``
  if (schema.enum !== undefined) return words(schema.enum)
  switch (schema.type) {
    case 'integer':
      return `whole number, ${schema.minimum} to ${schema.maximum}`
    case 'number':
      return `number, ${schema.minimum} to ${schema.maximum}`
    case 'array':
      return `list of ${typeOf(schema.items!)}`
    case 'object':
      return schema.additionalProperties ? `mapping of ${typeOf(schema.additionalProperties)}` : 'a mapping'
    case 'boolean':
      return '`true` or `false`'
    default:
      if (schema.pattern?.includes('ms|s|m|h')) return 'duration'
      return schema.pattern?.includes('KiB') ? 'size' : 'text'
  }
}

const placeholders: Readonly<Record<string, string>> = { backends: '<name>', mcpServers: '<name>', routes: '<path>' }

const keysAt = (schema: Schema, path: string, required: boolean): readonly Key[] => {
  const inside = schema.properties ?? schema.anyOf?.find(one => one.properties)?.properties
  if (inside === undefined) {
    const map = placeholders[path]
    if (map === undefined) return [{ path, type: typeOf(schema), fallback: schema.default, required }]
    const entry = schema.additionalProperties as Schema
    return entry.oneOf === undefined
      ? keysAt(entry, `${path}.${map}`, false)
      : merged(entry.oneOf.map(kind => ofKind(kind, `${path}.${map}`)))
  }
  const own: readonly Key[] =
    schema.anyOf === undefined ? [] : [{ path, type: typeOf(schema), fallback: schema.default, required }]
  const list = Object.entries(inside).flatMap(([key, inner]) =>
    keysAt(inner, path === '' ? key : `${path}.${key}`, schema.required?.includes(key) === true)
  )
  return [...own, ...list]
}

const ofKind = (schema: Schema, path: string): readonly Key[] => {
  const kind = String(schema.properties?.kind?.const)
  return keysAt(schema, path, false).map(key => ({ ...key, kinds: [kind] }))
}

/** The same key of several kinds once. What differs between them is joined, and so found. */
const merged = (lists: readonly (readonly Key[])[]): readonly Key[] => {
  const keys = new Map<string, Key>()
  for (const key of lists.flat()) {
    const before = keys.get(key.path)
    if (before === undefined) keys.set(key.path, key)
    else {
      const joined = before.type === key.type ? key.type : `${before.type}, ${key.type}`
      keys.set(key.path, { ...before, type: joined, kinds: [...before.kinds!, ...key.kinds!] })
    }
  }
  return [...keys.values()]
}

/** Every setting that a config file can have, from the schema that `causeway schema` prints. */
export const schemaKeys = (): readonly Key[] => keysAt(jsonSchema() as Schema, '', false)

/** All kinds of backend. */
export const kinds = ['http', 'sse', 'stdio', 'module'] as const
