// A server with as many tools as it is told to have. No two of its lists are the same, so that
// each one that is read has to be merged anew. Usage: lists.ts PORT PREFIX COUNT
import { resultOf } from './results.ts'
import { serve } from './server.ts'

const [port, prefix = 'tool', count = '1'] = process.argv.slice(2)

const properties = { path: { type: 'string', description: 'Where to look' }, depth: { type: 'integer', minimum: 0 } }
const tools = Array.from({ length: Number(count) }, (_, index) => ({
  name: `${prefix}-${index}`,
  title: `Tool ${index} of ${prefix}`,
  description:
    'Looks for what it is told to look for and says where it was found, with as much around it as is wanted.',
  inputSchema: { type: 'object', properties, required: ['path'] }
}))
/** All but the first, as they stand in every list. */
const rest = tools
  .slice(1)
  .map(tool => `,${JSON.stringify(tool)}`)
  .join('')
let lists = 0

const list = (): string => `{"tools":[${JSON.stringify({ ...tools[0], title: `List ${++lists}` })}${rest}]}`

serve(Number(port), (method, version) =>
  method === 'tools/list' ? list() : JSON.stringify(resultOf(method, version, 'xx'))
)
