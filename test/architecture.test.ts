/** The layers and import rules of docs/architecture.md, checked on the imports that are there. */
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('../src/', import.meta.url))

interface File {
  readonly path: string
  readonly lines: number
  /** Files of src, as paths below it. */
  readonly own: readonly string[]
  /** Those of them that are there when the program runs. */
  readonly run: readonly string[]
  readonly packages: readonly string[]
}

const statements = [
  /^import\s+(type\s)?(?:[\w*{}\s,$]+\s+from\s+)?'([^']+)'/gm,
  /^export\s+(type\s)?[\w*{}\s,$]+\s+from\s+'([^']+)'/gm,
  /\bimport\((\s*)'([^']+)'/g
]

const read = async (path: string): Promise<File> => {
  const text = await readFile(join(root, path), 'utf8')
  const found = statements.flatMap(pattern => [...text.matchAll(pattern)])
  const all = found.map(([, type, name]) => ({ name: name!, type: type?.startsWith('type') === true }))
  const own = all
    .filter(({ name }) => name.startsWith('.'))
    .map(({ name, type }) => ({ path: join(dirname(path), name), type }))
  return {
    path,
    lines: text.split('\n').length - 1,
    own: own.map(({ path }) => path),
    run: own.filter(({ type }) => !type).map(({ path }) => path),
    packages: all
      .map(({ name }) => name)
      .filter(name => !name.startsWith('.') && !name.startsWith('node:'))
      .map(name => /^(@[^/]+\/)?[^/]+/.exec(name)![0])
  }
}

const files = await Promise.all(
  (await readdir(root, { recursive: true }))
    .filter(path => path.endsWith('.ts'))
    .sort()
    .map(read)
)
const byPath = new Map(files.map(file => [file.path, file]))

/** Layer of a file, from the bottom: vocabulary, ports and what needs only them, adapters, gateway, edges, wiring, process. */
const vocabulary = 1
const ports = 2
const adapters = 2.5
const gateway = 3
const edges = 4
const wiring = 5
const program = 6

/** The first that fits says it. */
const layers: readonly (readonly [RegExp, number])[] = [
  [/^cli\//, program],
  [/^(compose|index|testing)\.ts$|^(compose|testing)\//, wiring],
  [/^(http|generations)\//, edges],
  [/^(gateway|bridge)\//, gateway],
  [/^telemetry\/events\.ts$/, vocabulary],
  [/^(protocol|sse|config)\//, vocabulary],
  [/^errors\.ts$/, vocabulary],
  [/^(streams|sessions|instances)\/(memory|redis)\b/, adapters],
  [/^backends\/[^/]+\//, adapters],
  [/^telemetry\//, adapters],
  [/^handlers\//, adapters],
  [/^auth\/principal\.ts$/, ports],
  [/^auth\//, adapters],
  [/^(links|exchanges|streams|sessions|instances|backends|redis)\//, ports]
]

const layerOf = (path: string): number | undefined => layers.find(([pattern]) => pattern.test(path))?.[1]

/** Files of one adapter have the same name here. */
const adapterOf = (path: string): string =>
  path.replace(/^(\w+\/)(memory|redis)\b.*$/, '$1$2').replace(/\/[^/]*\.ts$/, '')

/** What may be imported against a rule, with the reason. */
const exceptions: Readonly<Record<string, string>> = {
  'backends/module > handlers': 'the module kind runs what authors write with handlers/'
}

const imports = files.flatMap(file => file.own.map(to => ({ from: file.path, to })))
const described = ({ from, to }: { from: string; to: string }): string => `${from} imports ${to}`

t.test('every import of src leads to a file, and every file has a layer', async t => {
  t.ok(files.length > 50)
  t.same(imports.filter(({ to }) => !byPath.has(to)).map(described), [])
  t.same(
    files.map(({ path }) => path).filter(path => layerOf(path) === undefined),
    []
  )
})

t.test('imports point downward', async t => {
  const upward = imports.filter(({ from, to }) => layerOf(from)! < layerOf(to)!)
  t.same(upward.map(described), [])
})

t.test('only compose names implementations; index exports what authors and embedders use', async t => {
  const named = imports.filter(
    ({ from, to }) => layerOf(to) === adapters && layerOf(from) !== adapters && layerOf(from) !== wiring
  )
  t.same(named.map(described), [])
})

t.test('adapters do not import each other', async t => {
  const across = imports.filter(({ from, to }) => {
    if (layerOf(from) !== adapters || layerOf(to) !== adapters) return false
    const [one, other] = [adapterOf(from), adapterOf(to)]
    return one !== other && exceptions[`${one} > ${other}`] === undefined
  })
  t.same(across.map(described), [])
})

/** Ways from a node back to itself. */
const cyclesOf = (nodes: Iterable<string>, next: (node: string) => Iterable<string>): string[] => {
  const done = new Set<string>()
  const cycles: string[] = []
  const walk = (node: string, above: readonly string[]): void => {
    const start = above.indexOf(node)
    if (start !== -1) cycles.push([...above.slice(start), node].join(' > '))
    if (start !== -1 || done.has(node)) return
    for (const to of next(node)) walk(to, [...above, node])
    done.add(node)
  }
  for (const node of nodes) walk(node, [])
  return cycles
}

t.test('there are no cycles; two files of a folder may know the type of one another', async t => {
  t.same(
    cyclesOf(byPath.keys(), path => {
      const { own, run } = byPath.get(path)!
      return own.filter(to => run.includes(to) || dirname(to) !== dirname(path))
    }),
    []
  )
  t.same(
    cyclesOf(['a', 'b', 'c'], node => (node === 'a' ? ['b'] : node === 'b' ? ['c'] : ['b'])),
    ['b > c > b'],
    'a cycle would be found'
  )
})

/** Packages that stand behind a seam, and where. Each of the others may be used where it is needed. */
const seams: Readonly<Record<string, RegExp>> = {
  fastify: /^http\//,
  undici: /^backends\/(http|sse)\//,
  pino: /^telemetry\/logger\.ts$/,
  '@prometheus-io/client': /^telemetry\//,
  zod: /^(config|handlers|backends\/module)\//,
  yaml: /^config\//,
  'close-with-grace': /^cli\//
}
const redis = /^(@redis\/|redis$|ioredis$|iovalkey$)/

const seamOf = (name: string): RegExp | undefined =>
  name.startsWith('@fastify/') ? seams.fastify : redis.test(name) ? /^redis\/connection\.ts$/ : seams[name]

t.test(
  'Fastify is known in http/ alone, undici in two backend kinds, the Redis client in one file, pino in the logger',
  async t => {
    const out = files.flatMap(({ path, packages }) =>
      packages.filter(name => seamOf(name)?.test(path) === false).map(name => `${path} imports ${name}`)
    )
    t.same(out, [])
  }
)

t.test('every package that src imports is a dependency', async t => {
  const { dependencies } = JSON.parse(await readFile(join(root, '../package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const missing = files.flatMap(({ path, packages }) =>
    packages.filter(name => dependencies[name] === undefined).map(name => `${path} imports ${name}`)
  )
  t.same(missing, [])
})

/** Files over 200 lines, each with what would be lost by dividing it. */
const long: Readonly<Record<string, string>> = {
  'backends/correlate.ts': 'one table of numbers, tokens and upstream requests: each rule reads what the others keep',
  'backends/http/modern-exchange.ts': 'the states of one modern request, and each way in which it is refused',
  'backends/stdio/backend.ts': 'which children run, which start, and who waits for one: counted in one place',
  'bridge/legacy-over-modern.ts': 'what a legacy session has of a modern upstream, one method after the other',
  'bridge/listening.ts': 'streams that take the place of each other: opened, read, lost and opened again in one place',
  'bridge/bridged-exchange.ts': 'the rounds of one request: what is open, answered and sent again changes together',
  'bridge/interaction.ts': 'the states of one call that asks, running or parked; divided, none could be seen whole',
  'backends/http/leg.ts': 'the callbacks of one undici handler share the state of one response',
  'config/config.ts': 'the schema of the file, read from top to bottom like the file',
  'exchanges/asked.ts': 'what is open, and every way in which it ends',
  'exchanges/running.ts': 'the states of one call; its end has one place',
  'gateway/dispatch.ts': 'the order of checks, as one list',
  'gateway/posts.ts': 'a stream of a POST from its opening to its end, whoever reads it and wherever',
  'http/server.ts': 'the order of hooks, as one list',
  'links/slot.ts': 'the states of one link, from its first user to its last',
  'sessions/lifecycle.ts': 'a session from its beginning to its end',
  'sse/parse.ts': 'the states of one pass over the bytes, at any of which a chunk may end',
  'streams/follow.ts': 'the states of one reader, behind the log, past it, and while it does not answer',
  'streams/memory.ts': 'bounds over three indexes that every change has to keep in step'
}

t.test('files are short: one over 200 lines has its reason here', async t => {
  const tooLong = files.filter(({ lines }) => lines > 200)
  t.same(
    tooLong.filter(({ path }) => long[path] === undefined).map(({ path, lines }) => `${path}: ${lines} lines`),
    []
  )
  t.same(
    Object.keys(long).filter(path => !byPath.has(path)),
    [],
    'no reason outlives its file'
  )
  const sizes = files.map(({ lines }) => lines).sort((a, b) => a - b)
  t.comment(`${sizes.length} files, median ${sizes[sizes.length >> 1]} lines, longest ${sizes.at(-1)}`)
})
