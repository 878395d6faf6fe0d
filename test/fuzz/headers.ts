/** Which headers are let in: repeats, hosts and origins put together from parts, of which it is known what they come to. */
import assert from 'node:assert'
import type { IncomingMessage } from 'node:http'
import fc from 'fast-check'
import { GatewayError } from '../../src/errors.ts'
import { checkHeaders, maxHeaders } from '../../src/http/headers.ts'
import { hostCheck } from '../../src/http/host.ts'
import { originCheck } from '../../src/http/origin.ts'
import { checkAuthority, pathOf } from '../../src/http/target.ts'
import type { Target } from './target.ts'

/** The code of the refusal; undefined when it is let in. */
function refusal(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof GatewayError) return error.code
    throw error
  }
}

const singletons: Readonly<Record<string, string>> = {
  origin: 'origin',
  'mcp-protocol-version': 'mismatch',
  'mcp-method': 'mismatch',
  'mcp-name': 'mismatch',
  host: 'header',
  authorization: 'header',
  'content-type': 'header',
  'mcp-session-id': 'header',
  'last-event-id': 'header'
}

/** In small and capital letters as the numbers have it. */
const spelt = (name: string, choices: readonly boolean[]): string =>
  [...name].map((letter, i) => (choices[i % choices.length] ? letter.toUpperCase() : letter)).join('')

const header = fc
  .tuple(
    fc.oneof(
      fc.constantFrom(...Object.keys(singletons)),
      fc.constantFrom('accept', 'x-a', 'cookie', 'mcp_session_id', 'mcp-session-id2', 'xhost', 'content-length')
    ),
    fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
    fc.constantFrom('a', 'b', '')
  )
  .map(([name, choices, value]) => [spelt(name, choices), value] as const)

/** As Node gives them: the list as it came, and an object of which only framing is read. */
const requestOf = (list: readonly (readonly [string, string])[]): IncomingMessage =>
  ({ rawHeaders: list.flat(), headers: {}, method: 'GET', httpVersionMajor: 1, httpVersionMinor: 1 }) as any

const repeats = fc.property(fc.array(header, { maxLength: 12 }), list => {
  const seen = new Set<string>()
  let expected: string | undefined
  for (const [name] of list) {
    const lower = name.toLowerCase()
    if (seen.has(lower)) expected ??= singletons[lower]
    seen.add(lower)
  }
  assert.equal(
    refusal(() => checkHeaders(requestOf(list))),
    expected
  )
})

const many = fc.property(fc.integer({ min: 0, max: 2 * maxHeaders }), count => {
  const list = Array.from({ length: count }, (_, i) => [`x-${i}`, ''] as const)
  assert.equal(
    refusal(() => checkHeaders(requestOf(list))),
    count > maxHeaders ? 'header' : undefined
  )
})

const coding = fc.constantFrom(
  'chunked',
  'CHUNKED',
  ' chunked ',
  'gzip, chunked',
  'chunked, chunked',
  'identity',
  '',
  'x'
)

const framing = fc.property(
  fc.record({
    method: fc.constantFrom('GET', 'POST', 'DELETE'),
    coding: fc.option(coding, { nil: undefined }),
    length: fc.option(fc.nat().map(String), { nil: undefined }),
    encoding: fc.option(fc.constantFrom('identity', 'Identity ', 'gzip', 'identity, gzip', ''), { nil: undefined }),
    major: fc.constantFrom(0, 1, 2),
    minor: fc.constantFrom(0, 1)
  }),
  ({ method, coding, length, encoding, major, minor }) => {
    const headers = { 'transfer-encoding': coding, 'content-length': length, 'content-encoding': encoding }
    const request = { rawHeaders: [], headers, method, httpVersionMajor: major, httpVersionMinor: minor } as any
    const unframed = method === 'POST' && coding === undefined && length === undefined
    const odd = coding !== undefined && (minor === 0 || coding.trim().toLowerCase() !== 'chunked')
    const encoded = encoding !== undefined && encoding.trim().toLowerCase() !== 'identity'
    const expected = major !== 1 || unframed || odd ? 'header' : encoded ? 'media_type' : undefined
    assert.equal(
      refusal(() => checkHeaders(request)),
      expected
    )
  }
)

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?$/)

/** Hosts, and whether a gateway that lists `mcp.example.com` and `api.example.com:8443` takes them. */
const ourHost = fc.oneof(
  fc.constantFrom('localhost', '127.0.0.1', '[::1]', '10.0.0.1', 'mcp.example.com'),
  label.map(one => `${one}.localhost`),
  fc.ipV4(),
  fc.ipV6().map(address => `[${address}]`)
)
const otherHost = fc.oneof(
  fc.tuple(label, fc.constantFrom('localhost', '127.0.0.1', 'mcp.example.com')).map(([a, b]) => `${b}.${a}x.test`),
  fc.tuple(label, fc.constantFrom('localhost', 'mcp.example.com')).map(([a, b]) => `${a}${b}`),
  fc.tuple(label, fc.constantFrom('localhost', 'mcp.example.com')).map(([a, b]) => `${b}${a}`),
  fc
    .tuple(label, fc.constantFrom('@', '/', '#', '?', '\\', '%2f', ' ', '\t', ',', ';'))
    .map(([a, b]) => `${a}.test${b}localhost`),
  fc
    .tuple(label, fc.constantFrom('@', '/', '#', '?', '\\', '%2f', ' ', '\t', ',', ';'))
    .map(([a, b]) => `localhost${b}${a}.test`),
  fc.constantFrom(
    '',
    '.',
    'localhost.',
    '[::1',
    '::1',
    '[]',
    '[127.0.0.1]',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    'api.example.com'
  ),
  label.map(one => `sub${one}.mcp.example.com`)
)
const port = fc.oneof(
  fc.constant(''),
  fc.nat(65_535).map(number => `:${number}`)
)
const badPort = fc.oneof(
  fc.constantFrom(':', ':x', ':-1', ':80:80', ': 80', ':80 ', ':0x50', ':+80'),
  fc.integer({ min: 65_536, max: 9_999_999 }).map(number => `:${number}`)
)

const hosts = fc.property(
  fc.oneof(
    fc.tuple(ourHost, port, fc.constant(true)),
    fc.tuple(ourHost, badPort, fc.constant(false)),
    fc.tuple(otherHost, port, fc.constant(false)),
    fc.tuple(fc.constant('api.example.com'), fc.constantFrom(':8443', ':443', ':84430'), fc.constant(undefined))
  ),
  fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
  ([name, port, ours], choices) => {
    const check = hostCheck('https://public.example.com', ['mcp.example.com', 'API.example.com:8443'])
    const expected = ours ?? port === ':8443'
    for (let i = 0; i < 2; i++) {
      assert.equal(
        refusal(() => check(`${spelt(name, choices)}${port}`)),
        expected ? undefined : 'host'
      )
    }
  }
)

const anyHost = fc.property(fc.string({ unit: 'binary-ascii', maxLength: 20 }), host => {
  const code = refusal(() => hostCheck(undefined, [])(host))
  // Whatever passes is what a URL has for a host of ours, and nothing besides.
  if (code !== undefined) return assert.equal(code, 'host')
  const { host: read, pathname, username, search, hash } = new URL(`http://${host}`)
  assert.deepEqual([pathname, username, search, hash], ['/', '', '', ''])
  assert.match(read, /^(localhost|.*\.localhost|\[[0-9a-f:]+\]|[\d.]+)(:\d+)?$/)
})

const scheme = fc.constantFrom('http', 'https')
const allowedOrigins = [
  'https://app.example.com',
  'http://localhost:3000',
  'https://[2001:db8::1]:8443',
  'vscode-webview://abc'
]

const pages = fc.oneof(
  fc.tuple(
    scheme,
    fc.oneof(
      fc.constantFrom('localhost', '127.0.0.1', '[::1]'),
      label.map(one => `${one}.localhost`),
      fc.nat(255).map(last => `127.1.2.${last}`)
    ),
    port,
    fc.constant(true)
  ),
  fc.tuple(scheme, otherHost, port, fc.constant(false)),
  fc.tuple(scheme, fc.constantFrom('localhost', '127.0.0.1', '[::1]'), badPort, fc.constant(false)),
  fc.tuple(
    fc.constantFrom('ftp', 'ws', 'file', 'chrome-extension', 'app'),
    fc.constant('localhost'),
    port,
    fc.constant(false)
  )
)

/** The URL parser takes an empty port, and these ways to write an address. */
const alsoAddresses = new Set(['127.1', '2130706433', '0x7f.0.0.1'])

const origins = fc.property(
  pages,
  fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
  ([scheme, host, port, page], choices) => {
    fc.pre(port !== ':' && !alsoAddresses.has(host))
    const origin = `${spelt(scheme, choices)}://${spelt(host, choices)}${port}`
    assert.equal(
      refusal(() => originCheck(undefined, '127.0.0.1')(origin)),
      page ? undefined : 'origin'
    )
    assert.equal(
      refusal(() => originCheck([], '127.0.0.1')(origin)),
      'origin'
    )
    assert.equal(
      refusal(() => originCheck(undefined, '0.0.0.0')(origin)),
      'origin'
    )
  }
)

const listed = fc.property(
  fc.constantFrom(...allowedOrigins),
  fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
  fc.oneof(
    { weight: 1, arbitrary: fc.constant('') },
    { weight: 2, arbitrary: fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 3 }) }
  ),
  fc.nat(40),
  (origin, choices, extra, at) => {
    const check = originCheck(allowedOrigins, '127.0.0.1')
    assert.equal(
      refusal(() => check(spelt(origin, choices))),
      undefined
    )
    const place = at % (origin.length + 1)
    const changed = `${origin.slice(0, place)}${extra}${origin.slice(place)}`
    if (refusal(() => check(changed)) !== undefined) return
    // What passes all the same is another way to write one of them.
    const { protocol, host, pathname, username, search, hash } = new URL(changed)
    assert.match(changed, /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\,]+$/i)
    assert.deepEqual([username, search, hash, pathname.replace('/', '')], ['', '', '', ''])
    assert(allowedOrigins.includes(`${protocol}//${host}`.toLowerCase()), changed)
  }
)

const targets = fc.property(
  fc.constantFrom(
    '',
    'http://localhost:1',
    'HTTP://LOCALHOST:1',
    'http://evil.test',
    'http://localhost:1@evil.test',
    'https://localhost'
  ),
  fc.string({ unit: fc.constantFrom('/', 'm', 'c', 'p', '.', '%', '2', 'e', ';', '\\', '#', ':', '@'), maxLength: 8 }),
  fc.constantFrom('', '?', '?a=b', '?/mcp', '??'),
  (authority, path, query) => {
    const url = `${authority}/${path}${query}`
    const request = { url, headers: { host: 'localhost:1' } } as unknown as IncomingMessage
    assert.equal(pathOf(request), `/${path}`)
    const ours = authority === '' || authority.toLowerCase() === 'http://localhost:1'
    assert.equal(
      refusal(() => checkAuthority(request)),
      ours ? undefined : 'host'
    )
  }
)

export const headers = {
  properties: {
    'a singleton that stands twice is refused, the others may': repeats,
    'more headers than the bound are refused': many,
    'a body is framed one way and not encoded': framing,
    'hosts of ours are taken, and no others': hosts,
    'whatever is taken for a host of ours is one': anyHost,
    'pages of this machine are taken, and no others': origins,
    'an origin that is listed is taken, and nothing that only looks like it': listed,
    'a target is the path that is written': targets
  }
} satisfies Target
