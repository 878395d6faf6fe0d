/**
 * `npm run soak`: good traffic next to everything bad at once, for five minutes (SOAK_SECONDS says otherwise). The good traffic
 * is measured by itself first and compared with itself; in the end the gateway has to be as it was in the beginning.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { availableParallelism, constants, setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { startGateway } from '../helpers/gateway-process.ts'
import { children, runs } from '../helpers/processes.ts'
import { until } from '../helpers/until.ts'
import type { Done } from './bad.ts'
import type { Measured } from './good.ts'

const seconds = Number(process.env.SOAK_SECONDS ?? 300)
/** The good traffic alone: a fifth of the time, a minute at most. */
const aloneMs = Math.min(60, seconds / 5) * 1_000
const warmUpMs = 3_000
/** Until the bad load is all there: 200 readers have to be flooded before they are stuck. */
const comingMs = Math.min(30, seconds / 3) * 1_000
/** Between two looks at the metrics. */
const lookMs = 2_000

/** Times as slow; milliseconds; bytes; file descriptors. */
const bounds = { slower: 2, loopDelay: 50, heap: 16 * 1024 ** 2, handles: 5 }
/** With fewer cores the load takes from the gateway what it measures: times are told, not judged. */
const enoughCores = 4

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

const started = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of started) child.kill('SIGKILL')
})

/** Those who do harm have machines of their own: on this one they get the time that the others leave. */
const leftOver = constants.priority.PRIORITY_LOW

function start(name: string, args: readonly string[], priority = 0): ChildProcess {
  const child = fork(here(name), args)
  if (priority > 0) setPriority(child.pid!, priority)
  started.add(child)
  child.once('exit', () => started.delete(child))
  return child
}

const heard = async <T>(child: ChildProcess): Promise<T> => (await once(child, 'message'))[0] as T

/** Says something to a process and waits for what it answers. */
function ask<T>(child: ChildProcess, what: string): Promise<T> {
  const answer = heard<T>(child)
  child.send(what)
  return answer
}

const folder = await mkdtemp(join(tmpdir(), 'causeway-soak-'))
const tasks = join(folder, 'tasks.json')
const ports: Record<string, number> = {
  ...(await heard<Record<string, number>>(start('./upstreams.ts', ['good', 'hanging']))),
  ...(await heard<Record<string, number>>(start('./upstreams.ts', ['flooding'], leftOver)))
}
const http = (name: string, more: object = {}): object => ({
  kind: 'http',
  url: `http://127.0.0.1:${ports[name]}/mcp`,
  ...more
})
const backends = {
  good: http('good'),
  flooding: http('flooding', { maxTime: '20s' }),
  hanging: http('hanging', { timeout: '2s' }),
  dying: { kind: 'stdio', command: process.execPath, args: [here('./dying.mjs')], scope: 'shared' }
}
const gateway = await startGateway(
  {
    logging: { level: 'silent' },
    sessions: { idle: '10s' },
    streams: { retain: '1s' },
    backends,
    routes: Object.fromEntries(Object.keys(backends).map(name => [`/${name}`, { backends: [name] }]))
  },
  { NODE_OPTIONS: `--import ${pathToFileURL(here('./observe.mjs')).href}`, SOAK_TASKS: tasks }
)

async function metrics(): Promise<Map<string, number>> {
  const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  return new Map(
    [...text.matchAll(/^(\w+)(?:\{[^}]*\})? (\S+)$/gm)].map(([, name = '', value]) => [name, Number(value)])
  )
}

/** What the gateway holds, garbage collected. */
async function state() {
  process.kill(gateway.pid, 'SIGUSR2')
  await sleep(500)
  const values = await metrics()
  return {
    sessions: values.get('causeway_sessions')!,
    streams: values.get('causeway_streams')!,
    heap: values.get('nodejs_heap_size_used_bytes')!,
    handles: values.get('process_open_fds')!,
    children: children(gateway.pid).length
  }
}

/** The same once the good traffic has paused for long enough that its streams are forgotten and its connections closed. */
async function rested(good: ChildProcess, atMost?: Awaited<ReturnType<typeof state>>) {
  good.send('pause')
  let now = await state()
  const isRest = async (): Promise<boolean> => {
    now = await state()
    const most = atMost ?? { sessions: Number.POSITIVE_INFINITY, handles: Number.POSITIVE_INFINITY, children: 0 }
    return (
      now.streams === 0 &&
      now.sessions <= most.sessions &&
      now.children <= most.children &&
      now.handles <= most.handles + bounds.handles
    )
  }
  if (atMost === undefined) await sleep(5_000)
  // Its sessions are used, so that they are not over when it goes on.
  const using = setInterval(() => good.send('ping'), 3_000)
  await until('the gateway is at rest', isRest, 60_000).catch(() => {})
  clearInterval(using)
  good.send('resume')
  return now
}

async function measure(good: ChildProcess, ms: number, look = async (): Promise<void> => {}): Promise<Measured> {
  good.send('begin')
  const end = performance.now() + ms
  for (let left = ms; left > 0; left = end - performance.now()) {
    await sleep(Math.min(lookMs, left))
    await look()
  }
  return ask<Measured>(good, 'end')
}

const failures: string[] = []
const judged = availableParallelism() >= enoughCores
const check = (holds: boolean, what: string): void => {
  console.log(`${holds ? 'ok' : 'NOT OK'} - ${what}`)
  if (!holds) failures.push(what)
}
const checkTime = (holds: boolean, what: string): void => {
  if (judged) check(holds, what)
  else console.log(`${holds ? 'ok' : 'over'}, told and not judged - ${what}`)
}
const show = (name: string, { calls, p50, p99, direct }: Measured): void => {
  const [half, most, past] = [p50, p99, direct].map(ms => `${ms.toFixed(1)} ms`)
  console.log(`${name}: ${calls} good calls, p50 ${half}, p99 ${most}; past the gateway p99 ${past}`)
}
const mebibytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`

console.log(`${availableParallelism()} cores, ${seconds} s`)
try {
  const good = start('./good.ts', [gateway.url('/good'), `http://127.0.0.1:${ports.good}/mcp`])
  await heard(good)
  await sleep(warmUpMs)
  const before = await rested(good)
  await sleep(500)
  await metrics()
  let calm = 0
  const delayOf = (values: Map<string, number>): number => values.get('nodejs_eventloop_lag_p99_seconds')! * 1_000
  const alone = await measure(good, aloneMs, async () => {
    calm = Math.max(calm, delayOf(await metrics()))
  })
  show('alone', alone)

  const bad = start('./bad.ts', [gateway.url('/')], leftOver)
  let delay = 0
  let memory = 0
  const look = async (): Promise<void> => {
    const values = await metrics()
    const now = delayOf(values)
    if (process.env.SOAK_LOADS !== undefined)
      console.log(`  loop delay p99 ${now.toFixed(1)} ms, CPU ${values.get('process_cpu_seconds_total')!.toFixed(1)} s`)
    delay = Math.max(delay, now)
    memory = Math.max(memory, values.get('process_resident_memory_bytes')!)
  }
  const coming = await measure(good, comingMs, look)
  show('while the bad load comes', coming)
  const first = delay
  delay = 0
  const under = await measure(good, seconds * 1_000 - aloneMs - comingMs, look)
  show('under the bad load', under)
  const { counts, wrong } = await ask<Done>(bad, 'stop')
  for (const [what, count] of Object.entries(counts).sort()) console.log(`  ${count} ${what}`)

  const end = await rested(good, before)
  show('afterwards', await measure(good, 3_000))

  const failed = [...alone.failed, ...coming.failed, ...under.failed]
  check(failed.length === 0, `every good call was answered${failed.slice(0, 3).map(one => `, not: ${one}`)}`)
  check(wrong.length === 0, `every bad one had what it deserved${wrong.slice(0, 3).map(one => `, not: ${one}`)}`)
  for (const what of ['sessions', 'streams', 'children'] as const)
    check(end[what] <= before[what], `${what}: ${before[what]} before, ${end[what]} after`)
  check(end.handles <= before.handles + bounds.handles, `handles: ${before.handles} before, ${end.handles} after`)
  const [heapBefore, heapAfter, largest] = [before.heap, end.heap, memory].map(mebibytes)
  check(end.heap <= before.heap + bounds.heap, `heap: ${heapBefore} before, ${heapAfter} after (process: ${largest})`)
  const [own, loaded] = [alone, under].map(({ p99 }) => `${p99.toFixed(1)} ms`)
  checkTime(under.p99 < bounds.slower * alone.p99, `good p99: ${own} alone, ${loaded} under the bad load`)
  const [least, worst, most] = [calm, first, delay].map(ms => `${ms.toFixed(1)} ms`)
  checkTime(
    Math.max(first, delay) < bounds.loopDelay,
    `event loop delay p99, worst ${lookMs / 1_000} s: ${least} alone, ${worst} while it comes, ${most} under load`
  )
} finally {
  for (const child of started) child.disconnect()
  await gateway.stop()
  await until('no process is left', () => started.size === 0 && !runs(gateway.pid))
}
const longest = JSON.parse(await readFile(tasks, 'utf8')) as { ms: number; in: string[] }[]
for (const { ms, in: functions } of longest.slice(0, 3))
  console.log(`longest task: ${ms.toFixed(1)} ms: ${functions.join(', ')}`)
await rm(folder, { recursive: true })
process.exitCode = failures.length === 0 ? 0 : 1
