/** Forms of `elicitation/create`: flat objects of primitive fields (client/elicitation, "Requested Schema"). */
import { isStandard, type JsonSchema, type Schema } from './schema.ts'
import { type Checked, checkedOf, jsonOf } from './validate.ts'

type Field = Readonly<Record<string, unknown>>
type Choice = { readonly const: string; readonly title: string }

/** Multi-select and titled choices came with 2025-11-25; before it titles stood in `enumNames`. */
const firstWithChoices = '2025-11-25'

/**
 * The form as a client of this version takes it. Throws a TypeError for what is no flat form (nested objects, `$ref`, lists
 * that are no choice) and for what the version cannot ask. `secret` is told of fields that look like secrets, which forms
 * must not ask for.
 */
export function formOf(schema: Schema, version: string, secret: (field: string) => void): JsonSchema {
  const json = isStandard(schema) ? jsonOf(schema, 'input') : schema
  const { properties, required } = json
  if (json.type !== 'object' || typeof properties !== 'object' || properties === null) {
    throw new TypeError('A form must be an object with properties.')
  }
  const fields: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(properties as Record<string, Field>)) {
    fields[name] = fieldOf(name, field, version)
    if (
      /passw|secret|token|api[-_ ]?key|credential|private[-_ ]?key|\bpin\b/i.test(name) ||
      field.format === 'password'
    ) {
      secret(name)
    }
  }
  const names = Array.isArray(required) ? required : []
  return { type: 'object', properties: fields, ...(names.length === 0 ? {} : { required: names }) }
}

function fieldOf(name: string, field: Field, version: string): Field {
  const refuse = (why: string): never => {
    throw new TypeError(`The field "${name}" of the form ${why}.`)
  }
  if (typeof field !== 'object' || field === null) return refuse('has no schema')
  if ('$ref' in field || 'properties' in field) return refuse('must be a primitive value: forms are flat')
  const choices = field.oneOf ?? field.anyOf
  if (field.type === 'string') {
    if (choices === undefined) return field
    if (!areChoices(choices)) return refuse('must have choices with const and title')
    return version >= firstWithChoices ? field : named(field, choices)
  }
  if (choices !== undefined) return refuse('must have one type: string, number, integer, boolean, or a list of choices')
  if (field.type === 'number' || field.type === 'integer' || field.type === 'boolean') return field
  if (field.type !== 'array') return refuse('must be a string, a number, an integer, a boolean or a list of choices')
  const items = field.items as Field | undefined
  const options = items?.anyOf ?? items?.oneOf
  if (!areStrings(items?.enum) && !areChoices(options))
    return refuse('must be a list of choices: items with enum, or anyOf with const and title')
  if (version < firstWithChoices) return refuse('asks for several choices, which this client cannot')
  return field
}

const named = ({ oneOf: _one, anyOf: _any, ...rest }: Field, choices: readonly Choice[]): Field => ({
  ...rest,
  enum: choices.map(choice => choice.const),
  enumNames: choices.map(choice => choice.title)
})

const areStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length > 0 && value.every(item => typeof item === 'string')

const areChoices = (value: unknown): value is Choice[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every(item => typeof item?.const === 'string' && typeof item.title === 'string')

/** An accepted answer. A Standard Schema's defaults and transforms are in the value. */
export async function checkAnswer(schema: Schema, form: JsonSchema, content: unknown): Promise<Checked> {
  const given = content ?? {}
  if (isStandard(schema)) return checkedOf(await schema['~standard'].validate(given))
  const problems = answerProblems(form, given)
  return problems.length === 0 ? { ok: true, value: given } : { ok: false, problems }
}

/** What is unlike the form, one line each. Lengths and formats are the client's to check. */
function answerProblems(form: JsonSchema, content: unknown): string[] {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return ['the answer is no object']
  const answer = content as Record<string, unknown>
  const fields = form.properties as Record<string, Field>
  const problems = ((form.required as string[] | undefined) ?? [])
    .filter(name => answer[name] === undefined)
    .map(name => `${name} is missing`)
  for (const [name, field] of Object.entries(fields)) {
    if (answer[name] !== undefined && !fits(field, answer[name])) problems.push(`${name} is not what was asked`)
  }
  return problems
}

function fits(field: Field, value: unknown): boolean {
  if (field.type === 'array') {
    return Array.isArray(value) && value.every(item => isOption(field.items as Field, item))
  }
  if (field.type === 'string') return typeof value === 'string' && isOption(field, value)
  if (field.type === 'boolean') return typeof value === 'boolean'
  if (typeof value !== 'number' || (field.type === 'integer' && !Number.isInteger(value))) return false
  return value >= Number(field.minimum ?? -Infinity) && value <= Number(field.maximum ?? Infinity)
}

function isOption(field: Field, value: unknown): boolean {
  const choices = (field.oneOf ?? field.anyOf) as readonly Choice[] | undefined
  const options = (field.enum as readonly unknown[] | undefined) ?? choices?.map(choice => choice.const)
  return options === undefined ? typeof value === 'string' : options.includes(value)
}
