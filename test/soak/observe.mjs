/**
 * Loaded into the gateway (NODE_OPTIONS): notes when its event loop was late, and which functions ran in that time. At the
 * end of the process the latest turns stand in the file SOAK_TASKS. SIGUSR2 collects garbage, so that heaps can be compared.
 */
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const tickMs = 10
/** Turns that are told. */
const most = 5

if (/cli[/\\]main\.js$/.test(process.argv[1] ?? '')) observe(process.env.SOAK_TASKS)

function observe(file) {
  const profiler = new Session()
  profiler.connect()
  profiler.post('Profiler.enable')
  profiler.post('Profiler.setSamplingInterval', { interval: 1_000 })
  profiler.post('Profiler.start')

  /** Milliseconds of the monotonic clock, which the profiler has too. */
  const now = () => Number(process.hrtime.bigint()) / 1e6
  const late = []
  let before = now()
  // The start is no task of the gateway's.
  const from = before + 2_000
  setInterval(() => {
    const at = now()
    const task = { from: before, to: at, ms: at - before - tickMs }
    before = at
    if (at < from || (late.length === most && task.ms <= late[most - 1].ms)) return
    late.push(task)
    late.sort((a, b) => b.ms - a.ms)
    late.length = Math.min(late.length, most)
  }, tickMs).unref()

  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  process.on('SIGUSR2', () => {
    collect()
    collect()
    // That was no task of the gateway's.
    before = now()
  })

  process.on('exit', () => {
    if (file === undefined) return
    profiler.post('Profiler.stop', (_error, { profile }) => {
      writeFileSync(file, JSON.stringify(late.map(task => ({ ms: task.ms, in: functionsIn(profile, task) }))))
    })
  })
}

/** The functions that were seen at work in a turn, the most often seen first, with their share. */
function functionsIn(profile, { from, to }) {
  const nodes = new Map(profile.nodes.map(node => [node.id, node.callFrame]))
  const counts = new Map()
  let all = 0
  let at = profile.startTime / 1e3
  profile.samples.forEach((id, i) => {
    at += profile.timeDeltas[i] / 1e3
    if (at < from || at > to) return
    const { functionName, url, lineNumber } = nodes.get(id)
    const name = functionName === '' ? 'anonymous' : functionName
    const place = url === '' ? name : `${name} ${url.replace(/^.*\/(dist|node_modules)\//, '$1/')}:${lineNumber + 1}`
    counts.set(place, (counts.get(place) ?? 0) + 1)
    all++
  })
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 4)
    .map(([place, count]) => `${Math.round((100 * count) / all)} % ${place}`)
}
