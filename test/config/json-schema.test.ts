import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { parse as parseYaml } from 'yaml'
import * as z from 'zod'
import { jsonSchema } from '../../src/config/json-schema.ts'

const { oneOf, ...rest } = jsonSchema()
// zod cannot turn the `oneOf` back into a rule; it is looked at below.
const schema = z.fromJSONSchema(rest as Parameters<typeof z.fromJSONSchema>[0])
const accepts = (text: string): boolean => schema.safeParse(parseYaml(text)).success

const backends = 'backends: { a: { kind: http, url: "http://a/" } }'

t.test('the schema accepts what the program accepts', async t => {
  const examples = new URL('../../config/examples/', import.meta.url)
  for (const file of readdirSync(examples).filter(name => name.endsWith('.yaml')))
    t.ok(accepts(readFileSync(new URL(file, examples), 'utf8')), file)
  t.ok(accepts(`server: { port: "\${PORT}" }\nsessions: { idle: "\${IDLE}", mode: "\${MODE}" }\n${backends}`))
  t.ok(accepts(`admin: false\nstreams: { closeAfter: off }\n${backends}`))
})

t.test('the schema refuses what an editor should mark', async t => {
  const cases = [
    `sever: {}\n${backends}`,
    `server: { prot: 1 }\n${backends}`,
    `server: { port: 65536 }\n${backends}`,
    `server: { port: "80" }\n${backends}`,
    `sessions: { idle: 30 }\n${backends}`,
    `sessions: { idle: 30 s }\n${backends}`,
    `sessions: { mode: require }\n${backends}`,
    'backends: { a: { kind: htpp, url: "http://a/" } }',
    'backends: { a: { kind: stdio } }',
    'backends: { "a b": { kind: http, url: "http://a/" } }',
    `${backends}\nroutes: { mcp: { backends: [a] } }`,
    `${backends}\nroutes: { /mcp: { backends: [a], prefix: maybe } }`,
    'backends: { a: { kind: http, url: "http://a/", breaker: { ratio: 2 } } }',
    `${backends}\nroutes: { /mcp: { backends: [] } }`
  ]
  for (const text of cases) t.notOk(accepts(text), text)
})

t.test('the schema wants one of the two blocks', async t => {
  t.strictSame(oneOf, [{ required: ['backends'] }, { required: ['mcpServers'] }])
})

t.test('editors have a text for every setting but groups', async t => {
  const bare: string[] = []
  const look = (node: unknown, path: string): void => {
    if (typeof node !== 'object' || node === null) return
    const { properties, description, type } = node as { properties?: object; description?: string; type?: string }
    if (
      description === undefined &&
      type !== 'object' &&
      path.includes('properties') &&
      /properties\/[^/]+$/.test(path)
    ) {
      bare.push(path)
    }
    for (const [key, inner] of Object.entries(properties ?? {})) look(inner, `${path}/properties/${key}`)
  }
  look(jsonSchema(), '')
  t.strictSame(bare, [])
})
