import { validateHeaderName, validateHeaderValue } from 'node:http'
import * as z from 'zod'
import { served } from './served.ts'
import { duration, size, whole } from './units.ts'

const passes = (check: () => void): boolean => {
  try {
    check()
    return true
  } catch {
    return false
  }
}

/** Headers that the gateway writes itself, on every leg. */
const owned =
  /^(connection|content-(length|type)|host|accept|last-event-id|mcp-.*|te|trailer|transfer-encoding|upgrade)$/i

const name = z
  .string()
  .refine(text => passes(() => validateHeaderName(text)), 'expected the name of an HTTP header')
  .refine(text => !owned.test(text), 'this header belongs to the protocol, the gateway writes it')

const value = z
  .string('expected a string')
  .refine(text => passes(() => validateHeaderValue('x', text)), 'expected the value of an HTTP header, one line')

const url = z
  .string('expected an http(s) URL')
  .refine(text => /^https?:\/\//i.test(text) && URL.canParse(text), 'expected an http(s) URL')
  .refine(text => !/^https?:\/\/[^/?#]*@/i.test(text), 'expected a URL without credentials: they belong in headers')
  .refine(text => !text.includes('#'), 'expected a URL without a fragment')

const text = z.string('expected a string').refine(text => !text.includes('\0'), 'expected a string without NUL')
const filled = text.refine(text => text.trim() !== '', 'expected a string that is not empty')

/** Of every kind. */
const common = {
  timeout: duration()
    .prefault('60s')
    .describe('How long a call may be silent; a message of the call, such as progress, starts it anew'),
  pool: z
    .enum(['principal', 'call'], 'expected principal or call')
    .optional()
    .describe(
      'Whether calls of clients without sessions share an upstream session with others of the same caller, or have one each; ' +
        'principal for callers who are told apart, else call'
    ),
  maxTime: duration().prefault('5m').describe('How long a call may take in all'),
  ...served
}

const remote = {
  url: url.describe('Where the server is, http or https'),
  headers: z.record(name, value).prefault({}).describe('Sent with every request'),
  ...common
}

const era = z
  .enum(['auto', 'legacy', 'modern'], 'expected auto, legacy or modern')
  .prefault('auto')
  .describe(
    'What it speaks: revisions with initialize (legacy), those from 2026-07-28 on (modern), or what it turns out to speak'
  )

const http = z.strictObject({ kind: z.literal('http'), ...remote, era }).describe('A Streamable HTTP server')
const sse = z.strictObject({ kind: z.literal('sse'), ...remote }).describe('An HTTP+SSE server (2024-11-05)')

const stdio = z
  .strictObject({
    kind: z.literal('stdio'),
    command: filled.describe('The program: a name on PATH, or a path'),
    args: z.array(text, 'expected a list of strings').prefault([]).describe('Its arguments; no shell reads them'),
    env: z
      .record(z.string().regex(/^[^=\0]+$/, 'expected the name of an environment variable'), text)
      .prefault({})
      .describe('Added to the minimal environment that every program gets'),
    cwd: filled.optional().describe("Its working directory, relative to this file's; the file's own when left out"),
    scope: z
      .enum(['session', 'shared'], 'expected session or shared')
      .prefault('session')
      .describe('A process for each session, or one for all'),
    era,
    maxProcesses: whole(1, 10_000).prefault(32).describe('How many of its processes may run at once'),
    ...common
  })
  .describe('A program that speaks MCP on its standard input and output')

const module = z
  .strictObject({
    kind: z.literal('module'),
    path: filled.describe('A file or a folder of in-process handlers, relative to this file'),
    strict: z
      .boolean('expected true or false')
      .prefault(false)
      .describe('Refuse to start when one of its files cannot be served, instead of leaving it out'),
    worker: z
      .boolean('expected true or false')
      .prefault(false)
      .describe('Run the handlers in a thread of their own, which may block or run out of memory'),
    memory: size().prefault('256MiB').describe('What the values of that thread may take'),
    watch: z.boolean('expected true or false').prefault(false).describe('Load its files again when they change'),
    ...common
  })
  .describe('In-process handlers')

/** One backend as the file has it. */
export const backend = z.discriminatedUnion('kind', [http, sse, stdio, module], 'expected http, sse, stdio or module')

/** What names a backend: also the last part of its own route, `/mcp/<name>`. */
export const backendName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'expected a name of letters, digits, "-" and "_", 64 at most')

/** An entry of the `mcpServers` block of desktop clients. They tell the kind by `type`, or by `command` or `url`. */
export const clientEntry = z
  .strictObject({
    type: z
      .enum(['stdio', 'http', 'streamable-http', 'sse'], 'expected stdio, http, streamable-http or sse')
      .optional(),
    command: stdio.shape.command.optional(),
    args: z.array(text, 'expected a list of strings').optional(),
    env: stdio.shape.env.unwrap().optional(),
    cwd: stdio.shape.cwd,
    url: remote.url.optional(),
    headers: remote.headers.unwrap().optional()
  })
  .transform(({ type, ...entry }) => {
    const kind = type ?? (entry.url === undefined ? 'stdio' : 'http')
    return { kind: kind === 'streamable-http' ? 'http' : kind, ...entry } as z.input<typeof backend>
  })
  .pipe(backend)
