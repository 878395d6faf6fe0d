import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { guarded, isRisky } from './guard.ts'
import { isStandard, type JsonSchema, type Schema, type StandardIssue, type StandardSchema } from './schema.ts'

export type Checked =
  | { readonly ok: true; readonly value: unknown }
  /** One line each, the place first. */
  | { readonly ok: false; readonly problems: readonly string[] }

export interface Validator {
  /** What lists show. */
  readonly json: JsonSchema
  check(value: unknown): Checked | Promise<Checked>
}

/** Problems told at once; a model mends what it sees. */
const maxProblems = 10
/** Values whose JSON is longer than this get their first problem only. */
const detailBytes = 16_384
const maxSchemaBytes = 262_144
const maxSchemaDepth = 64

/**
 * Throws a TypeError that says what is wrong with the schema: no object at the root of an input, an unknown dialect, a `$ref` that is
 * not in it (nothing is ever fetched), too large, too deep.
 */
export function compile(schema: Schema, side: 'input' | 'output'): Validator {
  return isStandard(schema) ? standard(schema, side) : plain(schema, side)
}

function standard(schema: StandardSchema, side: 'input' | 'output'): Validator {
  const json = bounded(jsonOf(schema, side), side)
  const validate = (value: unknown) => schema['~standard'].validate(value)
  const run = isRisky(json) ? (value: unknown) => guarded(() => validate(value)) ?? tooLong : validate
  return {
    json,
    check(value) {
      const result = run(value)
      return result instanceof Promise ? result.then(checkedOf) : checkedOf(result)
    }
  }
}

const tooLong = { issues: [{ message: 'checking this value takes too long' }] }

export const checkedOf = (result: {
  readonly value?: unknown
  readonly issues?: readonly StandardIssue[] | undefined
}): Checked =>
  result.issues === undefined
    ? { ok: true, value: result.value }
    : { ok: false, problems: result.issues.slice(0, maxProblems).map(issueText) }

function issueText({ message, path }: StandardIssue): string {
  const keys = (path ?? []).map(part => String(typeof part === 'object' ? part.key : part))
  return keys.length === 0 ? message : `${keys.join('.')}: ${message}`
}

/** JSON Schema of a Standard Schema: by Standard JSON Schema, else by the method that zod 4 has. */
export function jsonOf(schema: StandardSchema, side: 'input' | 'output'): JsonSchema {
  const { vendor, jsonSchema } = schema['~standard']
  if (jsonSchema !== undefined) return jsonSchema[side]({ target: 'draft-2020-12' })
  const { toJSONSchema } = schema as { toJSONSchema?: (options: { io: string }) => JsonSchema }
  if (typeof toJSONSchema === 'function') return toJSONSchema.call(schema, { io: side })
  throw new TypeError(`this schema of ${vendor} cannot tell its JSON Schema: give a version that implements it`)
}

function plain(schema: JsonSchema, side: 'input' | 'output'): Validator {
  const json = bounded(schema, side)
  const quick = build(json, false)
  let thorough: ValidateFunction | undefined
  const check = (value: unknown): Checked => {
    if (quick(value)) return { ok: true, value }
    let errors = quick.errors
    if (JSON.stringify(value).length <= detailBytes) {
      thorough ??= build(json, true)
      thorough(value)
      errors = thorough.errors
    }
    return { ok: false, problems: [...new Set((errors ?? []).map(errorText))].slice(0, maxProblems) }
  }
  if (!isRisky(json)) return { json, check }
  return {
    json,
    check: value => guarded(() => check(value)) ?? checkedOf(tooLong)
  }
}

function bounded(json: JsonSchema, side: 'input' | 'output'): JsonSchema {
  if (side === 'input' && json.type !== 'object')
    throw new TypeError('the root of the schema must have "type": "object"')
  if (JSON.stringify(json).length > maxSchemaBytes)
    throw new TypeError(`the schema is larger than ${maxSchemaBytes} bytes`)
  if (deeper(json, maxSchemaDepth)) throw new TypeError(`the schema is nested deeper than ${maxSchemaDepth} levels`)
  return json
}

const deeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some(member => deeper(member, levels - 1)))

/** `format` is an annotation, as 2020-12 has it by default. */
const settings = { strict: false, validateFormats: false, addUsedSchema: false, logger: false } as const

/** 2020-12 unless `$schema` names draft-07. Each schema has a compiler of its own, so that equal `$id`s do not meet. */
function build(json: JsonSchema, allErrors: boolean): ValidateFunction {
  const dialect = json.$schema?.replace(/#$/, '').replace(/^http:/, 'https:')
  try {
    if (dialect === undefined || dialect === 'https://json-schema.org/draft/2020-12/schema') {
      return new Ajv2020({ ...settings, allErrors }).compile(json)
    }
    if (dialect === 'https://json-schema.org/draft-07/schema') return new Ajv({ ...settings, allErrors }).compile(json)
  } catch (cause) {
    throw new TypeError(`the schema is not usable: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause
    })
  }
  throw new TypeError(`the schema is of a dialect that is not known here: ${json.$schema}`)
}

function errorText({ instancePath, message, params, keyword }: ErrorObject): string {
  const place = instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
  const detail =
    keyword === 'enum'
      ? `: ${JSON.stringify(params.allowedValues).slice(1, -1)}`
      : keyword === 'additionalProperties'
        ? `: "${params.additionalProperty}"`
        : keyword === 'const'
          ? `: ${JSON.stringify(params.allowedValue)}`
          : ''
  return `${place === '' ? '' : `${place}: `}${message ?? keyword}${detail}`
}
