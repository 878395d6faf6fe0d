/**
 * The public interface as authors type against it (R156). Never run: `tsc` checks it, and a line that must not compile says
 * so. What is inferred from schemas is in test/handlers/types.test.ts.
 */
import {
  type Annotations,
  type AudioContent,
  type Context,
  createGateway,
  defineHandler,
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  type ElicitResult,
  type EmbeddedResource,
  type Handler,
  type Icon,
  type Infer,
  loadConfig,
  MissingCapabilityError,
  type ResourceLink,
  type StandardSchema,
  type TaskOptions,
  type ToolAnnotations,
  type ToolExecution
} from 'causeway'
import { testHandler } from 'causeway/testing'
import * as z from 'zod'

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
const is = <Expected extends true>(): Expected | undefined => undefined

// Types that authors name.
export const icon: Icon = { src: 'https://example.com/i.png', sizes: ['48x48'], theme: 'dark' }
export const annotations: Annotations = { audience: ['user'], priority: 0.5 }
export const hints: ToolAnnotations = { readOnlyHint: true }
export const execution: ToolExecution = { taskSupport: 'optional' }
export const audio: AudioContent = { type: 'audio', data: new Uint8Array(), mimeType: 'audio/wav' }
export const link: ResourceLink = { type: 'resource_link', uri: 'x://1', name: 'x', size: 3 }
export const embedded: EmbeddedResource = { type: 'resource', resource: { uri: 'x://1', text: 'x' } }
// @ts-expect-error: there is no such audience
export const nobody: Annotations = { audience: ['admin'] }
export const task: TaskOptions = { ttl: 1_000, pollInterval: 10, begins: 'handler' }
// @ts-expect-error: it begins with the call, or with the handler
export const someday: TaskOptions = { begins: 'someday' }
// @ts-expect-error: there is no such support
export const sometimes: ToolExecution = { taskSupport: 'sometimes' }
// @ts-expect-error: an icon is somewhere
export const nowhere: Icon = { mimeType: 'image/png' }

// Any library that implements Standard Schema.
declare const standard: StandardSchema<{ a?: string }, { a: string }>
declare const box: { readonly type: 'object'; readonly static: { b: number } }
is<Same<Infer<typeof standard>, { a: string }>>()
is<Same<Infer<typeof box>, { b: number }>>()
defineTool({
  name: 'a',
  inputSchema: standard,
  handler(args) {
    is<Same<typeof args, { a: string }>>()
    // @ts-expect-error: there is none
    return args.b
  }
})

// Arguments by JSON Schema, however deep; what is not required may be missing.
defineTool({
  name: 'a',
  inputSchema: {
    type: 'object',
    properties: {
      list: { type: 'array', items: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] } },
      choice: { type: 'string', enum: ['a', 'b'] }
    },
    required: ['list']
  },
  handler({ list, choice }) {
    is<Same<typeof list, { x: number }[]>>()
    is<Same<typeof choice, 'a' | 'b' | undefined>>()
    // @ts-expect-error: it may be missing
    choice.length
    return list.map(({ x }) => ({ type: 'text', text: String(x) }))
  }
})

// What a definition must have.
// @ts-expect-error: a tool has a name
defineTool({ handler: () => '' })
// @ts-expect-error: and a handler
defineTool({ name: 'a' })
// @ts-expect-error: a resource has a URI
defineResource({ name: 'a', read: () => '' })
// @ts-expect-error: a template is no text that is read
defineResourceTemplate({ uriTemplate: 'x://{a}', name: 'a', read: 'text' })

defineResourceTemplate({
  uriTemplate: 'x://{a}',
  name: 'a',
  complete: { a: (typed, { client }, filled) => [typed, client.version, filled.b ?? ''] },
  read: ({ a }, { uri }) => ({ text: `${a} ${uri}`, mimeType: 'text/plain' })
})

definePrompt({
  name: 'a',
  arguments: [{ name: 'must', required: true }, { name: 'may' }],
  get({ must, may }) {
    is<Same<typeof must, string>>()
    is<Same<typeof may, string | undefined>>()
    return [{ role: 'assistant', content: must }]
  }
})
// @ts-expect-error: there is no third role
definePrompt({ name: 'a', get: () => [{ role: 'system', content: '' }] })

// The context.
export async function inside(context: Context): Promise<void> {
  const { progress, log, elicit, elicitText, elicitChoice, elicitUrl, sample, roots, session } = context
  await progress(1, 2, 'half')
  // @ts-expect-error: a number
  await progress('1')
  await log.warning({ any: 'thing' })
  await log('notice', 1)
  // @ts-expect-error: no level of the protocol
  await log('warn', 1)
  const form = await elicit('?', z.object({ age: z.int() }))
  is<Same<typeof form, ElicitResult<{ age: number }>>>()
  // @ts-expect-error: only an accepted form has content
  form.content.age
  if (form.action === 'accept') is<Same<typeof form.content, { age: number }>>()
  const plain = await elicit('?', { type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'] })
  if (plain.action === 'accept') is<Same<typeof plain.content, { a: boolean }>>()
  is<Same<Awaited<ReturnType<typeof elicitText>>, string | undefined>>()
  const listed = await elicitChoice('?', ['s', 'l'])
  is<Same<typeof listed, 's' | 'l' | undefined>>()
  const titled = await elicitChoice('?', { s: 'Small', l: 'Large' })
  is<Same<typeof titled, 's' | 'l' | undefined>>()
  // @ts-expect-error: no format of the protocol
  await elicitText('?', { format: 'password' })
  const { action, done } = await elicitUrl('?', 'https://example.com')
  if (action === 'accept') done()
  const { model } = await sample({ messages: [{ role: 'user', content: { type: 'text', text: '?' } }], maxTokens: 9 })
  is<Same<typeof model, string>>()
  // @ts-expect-error: how many tokens has to be said
  await sample({ messages: [] })
  for (const { uri } of await roots()) is<Same<typeof uri, string>>()
  const keyed = await elicitChoice('?', ['s', 'l'], { key: 'size' })
  is<Same<typeof keyed, 's' | 'l' | undefined>>()
  await elicit('?', z.object({ age: z.int() }), { key: 'age', strict: true })
  await elicitText('?', {}, { key: 'text' })
  await elicitUrl('?', 'https://example.com', { key: 'page' })
  await roots({ key: 'folders' })
  // @ts-expect-error: a key is a text
  await sample({ messages: [], maxTokens: 9 }, { key: 1 })
  is<Same<typeof context.client.era, 'legacy' | 'modern'>>()
  // @ts-expect-error: capabilities have members
  if (context.client.era === 'modern') throw new MissingCapabilityError({ sampling: true })
  is<Same<ReturnType<typeof session.get>, unknown>>()
  // @ts-expect-error: notifications begin like that
  context.broadcast('x')
}

// A whole server, and what is added to one.
const handler: Handler = defineHandler({
  name: 'h',
  logging: false,
  tools: [defineTool({ name: 'a', inputSchema: z.object({ a: z.string() }), handler: ({ a }) => a })]
})
handler
  .addTool(
    class {
      name = 'class'
      handler = () => 'made'
    }
  )
  .addPrompt({ name: 'p', get: () => '' })
// @ts-expect-error: no such level
defineHandler({ name: 'h', logging: 'loud' })

export async function embed(): Promise<void> {
  const gateway = await createGateway(await loadConfig('causeway.yaml'))
  is<Same<ReturnType<typeof gateway.handler>, Handler>>()
}

// The testing aid.
export async function testing(): Promise<void> {
  await using client = await testHandler([handler], {
    answers: { elicit: ({ message }) => ({ action: 'accept', content: { message } }), sample: 'text', roots: [] }
  })
  const { content, isError } = await client.callTool('a', { a: 'b' })
  is<Same<typeof isError, boolean | undefined>>()
  for (const block of content) if (block.type === 'audio') is<Same<typeof block, AudioContent>>()
  // @ts-expect-error: no answer of an elicitation
  await testHandler(handler, { answers: { elicit: 'yes' } })
}
