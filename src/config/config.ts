import { isIP } from 'node:net'
import * as z from 'zod'
import { allVersions } from '../protocol/version.ts'
import { backend, backendName, clientEntry } from './backend.ts'
import { duration, off, size, whole } from './units.ts'

const host = z.string('expected a host name or an address').regex(/^[^\s/]+$/, 'expected a host name or an address')

const publicUrl = z
  .string('expected an http(s) URL')
  .refine(text => /^https?:\/\//i.test(text) && URL.canParse(text), 'expected an http(s) URL')
  .refine(text => !/[?#@]/.test(text), 'expected a URL without credentials, query and fragment')

const origin = z
  .string('expected an origin such as https://app.example.com')
  .regex(/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*,]+$/, 'expected an origin such as https://app.example.com, without a path')

function isRedisUrl(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^rediss?:$/.test(url.protocol) && url.hostname !== '' && /^(\/\d*)?$/.test(url.pathname)
}

const allowedHost = z
  .string('expected a host name')
  .regex(/^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+)(:\d{1,5})?$/, 'expected a host name such as mcp.example.com')

const network = z.string('expected an address').refine(text => {
  const [address = '', bits, ...rest] = text.split('/')
  const version = isIP(address)
  const width = version === 4 ? 32 : 128
  return version > 0 && rest.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= width))
}, 'expected an IP address or a network such as 10.0.0.0/8')

const redisUrl = z.string('expected a URL').refine(isRedisUrl, 'expected a URL such as redis://127.0.0.1:6379')

const server = z.strictObject({
  host: host.prefault('127.0.0.1').describe('Address to listen on'),
  port: whole(0, 65_535).prefault(8080).describe('Port to listen on; 0 lets the system choose'),
  publicUrl: publicUrl.optional().describe('The URL that clients use, when it is another one'),
  allowedOrigins: z
    .array(origin, 'expected a list of origins')
    .optional()
    .describe('Web pages that may call. Left out: pages on this machine when bound to loopback, else none'),
  allowedHosts: z
    .array(allowedHost, 'expected a list of host names')
    .prefault([])
    .describe('Host names accepted besides loopback, addresses and the one of publicUrl'),
  trustProxy: z
    .array(network, 'expected a list of addresses')
    .prefault([])
    .describe('Reverse proxies whose X-Forwarded-* headers count'),
  limits: z
    .strictObject({
      body: size().prefault('4MiB').describe('Largest request body'),
      upstream: size().prefault('32MiB').describe('Largest message of a backend'),
      depth: whole(8, 1000).prefault(64).describe('Deepest nesting of a message'),
      batch: whole(1, 1000).prefault(50).describe('Most messages in a batch'),
      maxConnections: whole(1, 1_000_000).prefault(10_000).describe('Most connections at once'),
      headersTimeout: duration().prefault('15s').describe('How long the head of a request may take to arrive'),
      requestTimeout: duration().prefault('30s').describe('How long a whole request may take to arrive')
    })
    .prefault({}),
  shutdown: z
    .strictObject({
      delay: duration({ zero: true })
        .prefault('0s')
        .describe('Time between not being ready and taking no new work, for load balancers to notice'),
      deadline: duration({ zero: true }).prefault('25s').describe('How long calls in flight may still take after that')
    })
    .prefault({})
})

const admin = z.strictObject({
  host: host.prefault('127.0.0.1').describe('Address to listen on'),
  port: whole(0, 65_535).prefault(9090).describe('Port to listen on; 0 lets the system choose')
})

const sessions = z.strictObject({
  mode: z
    .enum(['required', 'optional', 'stateless'], 'expected required, optional or stateless')
    .prefault('required')
    .describe('Whether clients must, may or cannot have a session'),
  idle: duration().prefault('30m').describe('How long a session lives unused'),
  max: whole(1, 10_000_000).prefault(10_000).describe('Most sessions at once'),
  perAddress: whole(1, 10_000_000).prefault(1000).describe('Most sessions at once for one client address')
})

const streams = z.strictObject({
  response: z
    .enum(['auto', 'json', 'sse'], 'expected auto, json or sse')
    .prefault('auto')
    .describe('How calls are answered: JSON when quick and SSE otherwise, or always one of them'),
  sseAfter: duration().prefault('1s').describe('When a call that has no answer yet goes SSE'),
  retain: duration().prefault('10m').describe('How long the messages of a stream can be had again'),
  events: whole(1, 1_000_000).prefault(1000).describe('Most messages kept of one stream'),
  bytes: size().prefault('4MiB').describe('Most bytes kept of one stream'),
  total: size().prefault('256MiB').describe('Most bytes kept of all streams'),
  keepAlive: duration().prefault('15s').describe('Time between keep-alive comments'),
  retry: duration().prefault('1s').describe('How long clients wait before they connect again'),
  closeAfter: z
    .union([off('off'), duration()], 'expected off or a duration such as 30s')
    .prefault('off')
    .describe('When the connection of a long call is closed, for the client to come back to it'),
  highWater: size().prefault('1MiB').describe('Bytes that may wait in a connection before the next message is held'),
  behind: whole(1, 1_000_000)
    .prefault(256)
    .describe('Messages that a reader may be behind before the backend is slowed'),
  stall: duration().prefault('30s').describe('When a connection that takes nothing at all is cut')
})

const version = z.enum(allVersions, `expected one of ${allVersions.join(', ')}`)

/** Most backends behind one route. */
export const maxBackends = 64

export const route = z.strictObject({
  backends: z
    .array(backendName, 'expected a list of backend names')
    .min(1, 'expected the name of a backend')
    .max(maxBackends, `expected ${maxBackends} backends at most`)
    .describe('What is served there, as one server; earlier ones come first'),
  prefix: z
    .enum(['auto', 'always', 'never'], 'expected auto, always or never')
    .prefault('auto')
    .describe('Whether names begin with that of their backend: where two have the same, always, or never'),
  separator: z
    .string('expected a string')
    .regex(/^[A-Za-z0-9_.-]{1,3}$/, 'expected 1 to 3 letters, digits, "_", "-" and "."')
    .prefault('_')
    .describe('What stands between prefix and name'),
  onError: z
    .enum(['skip', 'fail'], 'expected skip or fail')
    .prefault('skip')
    .describe('What a backend that fails does to the lists of the others'),
  initTimeout: duration().prefault('2s').describe('How long initialize waits for backends that are not known yet'),
  listTimeout: duration().prefault('5s').describe('How long a list waits for a backend'),
  listTtl: duration().prefault('5m').describe('How long the list of a backend counts that says nothing of changes'),
  page: whole(1, 100_000).prefault(1000).describe('Most entries on a page of a list'),
  protocol: z
    .strictObject({
      versions: z
        .array(version, 'expected a list of versions')
        .min(1, 'expected at least one version')
        .prefault([...allVersions])
        .describe('The revisions served there')
    })
    .prefault({})
})

const routePath = z
  .string()
  .regex(/^(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$/, 'expected a path such as /mcp, without a slash at the end')

const store = z.strictObject({
  kind: z
    .enum(['memory', 'redis'], 'expected memory or redis')
    .prefault('memory')
    .describe('Where sessions and streams are kept: by this process alone, or by all that have the same Redis'),
  url: redisUrl.optional().describe('Of Redis or Valkey, with credentials and the number of the database where needed'),
  prefix: z
    .string('expected a string')
    .regex(/^[\w.:-]{1,64}$/, 'expected 1 to 64 letters, digits, "_", ".", ":" and "-"')
    .prefault('causeway')
    .describe('Begins every key in Redis: deployments that share one have different ones'),
  deadline: duration().prefault('250ms').describe('How long Redis may take for a command')
})

/** The file. One definition gives the validation, its type and the JSON Schema. Rules across keys are in rules.ts. */
export const file = z.strictObject({
  $schema: z.string().optional().describe('Where editors find the schema'),
  server: server.prefault({}).describe('The listener for clients'),
  admin: z
    .union([off(false), admin], 'expected false, or a host and a port')
    .prefault({})
    .describe('The listener for health and metrics; false turns it off'),
  store: store.prefault({}),
  secrets: z
    .strictObject({
      key: z
        .string()
        .regex(/^([\w-]{43,}=*)?$/, 'expected 32 bytes or more in base64url (43 characters or more)')
        .optional()
        .describe('Seals what clients carry for the gateway; of this process alone when left out')
    })
    .prefault({}),
  sessions: sessions.prefault({}),
  streams: streams.prefault({}),
  input: z
    .strictObject({
      timeout: duration().prefault('10m').describe('How long a backend waits for an answer of the client'),
      rounds: whole(1, 1000).prefault(10).describe('How often one request may come back for input')
    })
    .prefault({}),
  protocolVersion: z
    .strictObject({
      onMismatch: z
        .enum(['useSession', 'reject'], 'expected useSession or reject')
        .prefault('useSession')
        .describe("What a version header unlike the session's does")
    })
    .prefault({}),
  logging: z
    .strictObject({
      level: z
        .enum(
          ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
          'expected trace, debug, info, warn, error, fatal or silent'
        )
        .prefault('info')
        .describe('The least severe lines written'),
      format: z
        .enum(['json', 'pretty'], 'expected json or pretty')
        .prefault('json')
        .describe('For machines, or for people')
    })
    .prefault({}),
  backends: z.record(backendName, backend).optional().describe('The MCP servers behind the gateway, by name'),
  mcpServers: z
    .record(backendName, clientEntry)
    .optional()
    .describe('In place of backends: the block that desktop clients use'),
  routes: z
    .record(routePath, route)
    .optional()
    .describe('What is served where. Left out: all backends at /mcp, and each at /mcp/<name>')
})

type ReadonlyDeep<T> = T extends object ? { readonly [K in keyof T]: ReadonlyDeep<T[K]> } : T

export type File = ReadonlyDeep<z.output<typeof file>>

/** One backend, named. Durations are milliseconds. `path` and `cwd` are absolute. */
export type BackendConfig = ReadonlyDeep<{ name: string } & z.output<typeof backend>>

/** One downstream path. `versions` are the revisions served there. Several backends are merged, in the order in which they stand. */
export type RouteConfig = { readonly path: string } & ReadonlyDeep<z.output<typeof route>>

/**
 * What the gateway runs from: every default filled in, durations in milliseconds, sizes in bytes, switches that are off
 * `undefined`, `mcpServers` turned into backends, the routes that follow from the backends written out.
 */
export type Config = Omit<File, '$schema' | 'backends' | 'mcpServers' | 'routes'> & {
  readonly backends: readonly BackendConfig[]
  readonly routes: readonly RouteConfig[]
}
