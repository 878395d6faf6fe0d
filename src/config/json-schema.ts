import * as z from 'zod'
import { file } from './config.ts'

/** What editors complete and check config files by: draft-07, which they know best, from the one definition. */
export const jsonSchema = (): Record<string, unknown> => {
  const schema = z.toJSONSchema(file, {
    target: 'draft-7',
    io: 'input',
    override({ jsonSchema, path }) {
      const { type, pattern, enum: words } = jsonSchema
      const limited = type === 'integer' || type === 'number' || (type === 'string' && (pattern ?? words) !== undefined)
      if (!limited || path.includes('propertyNames')) return
      const { description, default: fallback, ...rule } = jsonSchema
      for (const key of Object.keys(jsonSchema)) Reflect.deleteProperty(jsonSchema, key)
      Object.assign(
        jsonSchema,
        description === undefined ? {} : { description },
        fallback === undefined ? {} : { default: fallback },
        { anyOf: [rule, { type: 'string', pattern: '\\$\\{' }] } // expanded before it is checked
      )
    }
  })
  return {
    ...schema,
    title: 'Configuration of Causeway',
    oneOf: [{ required: ['backends'] }, { required: ['mcpServers'] }]
  }
}

/** The text of the schema as it is committed and printed. */
export const jsonSchemaText = (): string => `${JSON.stringify(jsonSchema(), null, 2)}\n`
