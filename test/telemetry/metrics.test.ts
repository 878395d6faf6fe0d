import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { EventLoop } from '../../src/telemetry/event-loop.ts'
import { facts, type OperationFact, type RequestFact } from '../../src/telemetry/events.ts'
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts'
import type { Sources } from '../../src/telemetry/states.ts'

const sources = (over: Partial<Sources> = {}): Sources => ({
  version: '1.2.3',
  sessions: () => 3,
  streams: () => 4,
  bufferedBytes: () => 5,
  events: () => 6,
  eventsDropped: () => ({ bounds: 7 }),
  storeUp: () => true,
  draining: () => false,
  pressure: () => 'high',
  reloads: () => ({ counts: { applied: 2, unchanged: 0, refused: 1 }, loadedAt: 1_500, last: { outcome: 'refused' } }),
  backends: () => [
    { name: 'docs', up: true, inflight: 2, waiting: 1, breaker: 'closed', leftOut: [], rejected: {} },
    {
      name: 'files',
      up: false,
      inflight: 0,
      waiting: 0,
      breaker: 'open',
      leftOut: ['tools/list: no'],
      rejected: { breaker: 3, queue_full: 0 }
    }
  ],
  ...over
})

const open = (t: Test, over?: Partial<Sources>): Metrics => {
  const loop = new EventLoop()
  const metrics = createMetrics(sources(over), loop)
  t.teardown(() => {
    metrics.close()
    loop.close()
  })
  return metrics
}

/** Values by series, as written. */
const series = async (metrics: Metrics): Promise<Map<string, number>> => {
  const lines = (await metrics.text()).split('\n').filter(line => line !== '' && !line.startsWith('#'))
  const entries = lines.map(line => line.match(/^(.*) (\S+)$/)!.slice(1) as [string, string])
  t.equal(new Set(entries.map(([name]) => name)).size, entries.length, 'no series twice')
  return new Map(entries.map(([name, value]) => [name, Number(value)]))
}

const request: RequestFact = {
  id: 'r1',
  route: '/mcp',
  http: 'POST',
  status: 200,
  method: 'tools/call',
  name: 'search',
  backend: 'docs',
  version: '2025-11-25',
  outcome: 'ok',
  durationMs: 30,
  address: '127.0.0.1'
}
const operation: OperationFact = { backend: 'docs', method: 'tools/call', name: 'search', durationMs: 15 }

const http = 'network_transport="tcp",network_protocol_name="http"'
const server = 'mcp_server_operation_duration_seconds'
const client = 'mcp_client_operation_duration_seconds'

t.test('states are read when somebody looks', async t => {
  let sessions = 1
  const metrics = open(t, { sessions: async () => sessions, draining: () => sessions === 2 })
  t.equal((await series(metrics)).get('causeway_sessions'), 1)
  sessions = 2
  const values = await series(metrics)
  t.equal(values.get('causeway_sessions'), 2)
  t.equal(values.get('causeway_draining'), 1)
  t.equal(values.get('causeway_pressure'), 1)
  t.equal(values.get('causeway_streams'), 4)
  t.equal(values.get('causeway_store_up'), 1)
  t.equal(values.get('causeway_config_last_reload_successful'), 0)
  t.equal(values.get('causeway_config_last_reload_success_timestamp_seconds'), 1.5)
  t.equal(values.get('causeway_config_reloads_total{outcome="applied"}'), 2)
  t.equal(values.get('causeway_config_reloads_total{outcome="refused"}'), 1)
  t.equal(values.get('causeway_stream_buffer_bytes'), 5)
  t.equal(values.get('causeway_events_stored'), 6)
  t.equal(values.get('causeway_events_dropped_total{reason="bounds"}'), 7)
  t.equal(values.get('causeway_backend_up{backend="docs"}'), 1)
  t.equal(values.get('causeway_backend_up{backend="files"}'), 0)
  t.equal(values.get('causeway_backend_inflight{backend="docs"}'), 2)
  t.equal(values.get('causeway_backend_queue{backend="docs"}'), 1)
  t.equal(values.get('causeway_backend_breaker{backend="docs"}'), 0)
  t.equal(values.get('causeway_backend_breaker{backend="files"}'), 2)
  t.equal(values.get('causeway_backend_lists_left_out{backend="files"}'), 1)
  t.equal(values.get('causeway_backend_rejected_total{backend="files",reason="breaker"}'), 3)
  t.equal(values.get('causeway_backend_rejected_total{backend="files",reason="queue_full"}'), 0)
  t.equal(values.get(`causeway_build_info{version="1.2.3",node="${process.versions.node}"}`), 1)
})

t.test('a state that cannot be read is left out and the rest is told', async t => {
  let broken = false
  const metrics = open(t, {
    sessions: () => (broken ? Promise.reject(new Error('the store is gone')) : 3),
    eventsDropped: () => {
      if (broken) throw new Error('broken')
      return { bounds: 1 }
    },
    backends: () => {
      if (broken) throw new Error('broken')
      return []
    }
  })
  t.ok((await series(metrics)).has('causeway_sessions'))
  broken = true
  const values = await series(metrics)
  t.notOk(values.has('causeway_sessions'))
  t.notOk(values.has('causeway_events_dropped_total{reason="bounds"}'))
  t.equal(values.get('causeway_streams'), 4)
})

t.test('operations of clients are counted in buckets, by method, tool and version', async t => {
  const metrics = open(t)
  facts.request.publish(request)
  facts.request.publish({ ...request, durationMs: 400_000 })
  facts.request.publish({ ...request, method: 'prompts/get', name: 'greet' })
  facts.request.publish({ ...request, method: 'tools/list', name: undefined, backend: undefined })
  facts.request.publish({ ...request, method: 'notifications/initialized', name: undefined, outcome: 'accepted' })
  const values = await series(metrics)
  const call = `mcp_method_name="tools/call",gen_ai_operation_name="execute_tool",gen_ai_tool_name="search",mcp_protocol_version="2025-11-25",${http}`
  t.equal(values.get(`${server}_bucket{${call},le="0.02"}`), 0)
  t.equal(values.get(`${server}_bucket{${call},le="0.05"}`), 1)
  t.equal(values.get(`${server}_bucket{${call},le="300"}`), 1)
  t.equal(values.get(`${server}_bucket{${call},le="+Inf"}`), 2)
  t.equal(values.get(`${server}_count{${call}}`), 2)
  t.equal(values.get(`${server}_sum{${call}}`), 400.03)
  const version = `mcp_protocol_version="2025-11-25",${http}`
  t.equal(values.get(`${server}_count{mcp_method_name="prompts/get",gen_ai_prompt_name="greet",${version}}`), 1)
  t.equal(values.get(`${server}_count{mcp_method_name="tools/list",${version}}`), 1)
  t.equal(values.get(`${server}_count{mcp_method_name="notifications/initialized",${version}}`), 1)
})

t.test("errors have the conventions' types; on this side the client's own mistakes are none", async t => {
  const metrics = open(t)
  const list = { ...request, method: 'tools/list', name: undefined, version: undefined }
  facts.request.publish({ ...list, outcome: 'rpc_error', error: '-32603' })
  facts.request.publish({ ...list, outcome: 'rpc_error', error: 'timeout' })
  facts.request.publish({ ...list, outcome: 'rpc_error', error: '-32602' })
  facts.request.publish({ ...list, outcome: 'rpc_error', error: 'params' })
  facts.request.publish({ ...list, outcome: 'rpc_error', error: '-31999' })
  facts.request.publish({ ...list, outcome: 'rpc_error', error: '12345' })
  facts.request.publish({ ...list, outcome: 'rpc_error' })
  facts.request.publish({ ...list, outcome: 'cancelled' })
  facts.request.publish({ ...list, outcome: 'tool_error', error: 'whatever' })
  facts.operation.publish({ backend: 'docs', method: 'tools/list', durationMs: 1, error: '-32602' })
  facts.operation.publish({ backend: 'docs', method: 'tools/list', durationMs: 1, error: 'backend_broke' })
  const values = await series(metrics)
  const count = (labels: string) => values.get(`${server}_count{mcp_method_name="tools/list",${labels},${http}}`)
  t.equal(count('error_type="-32603",rpc_response_status_code="-32603"'), 1)
  t.equal(count('error_type="timeout",rpc_response_status_code="-32603"'), 1)
  t.equal(count('rpc_response_status_code="-32602"'), 2)
  t.equal(count('error_type="_other",rpc_response_status_code="_other"'), 2)
  t.equal(count('error_type="_other"'), 1)
  t.equal(count('error_type="cancelled"'), 1)
  t.equal(count('error_type="tool_error"'), 1)
  const upstream = (labels: string) =>
    values.get(`${client}_count{mcp_method_name="tools/list",${labels},backend="docs"}`)
  t.equal(upstream('error_type="-32602",rpc_response_status_code="-32602"'), 1)
  t.equal(upstream('error_type="backend_broke",rpc_response_status_code="-32603"'), 1)
})

t.test('refused requests are counted by reason and are no operations', async t => {
  const metrics = open(t)
  facts.request.publish({ ...request, outcome: 'rejected', error: 'session', status: 404 })
  facts.request.publish({ ...request, outcome: 'rejected', error: 'made up' })
  facts.request.publish({ ...request, method: undefined, http: 'GET' })
  const values = await series(metrics)
  t.equal(values.get('causeway_requests_rejected_total{reason="session"}'), 1)
  t.equal(values.get('causeway_requests_rejected_total{reason="_other"}'), 1)
  t.notOk([...values.keys()].some(name => name.startsWith(server)))
})

t.test('drops and the life of sessions are counted', async t => {
  const metrics = open(t)
  facts.drop.publish({ reason: 'noise', backend: 'files', count: 5 })
  facts.drop.publish({ reason: 'log_failed' })
  facts.drop.publish({ reason: 'stuck_handler', backend: 'local', name: 'slow' })
  const session = { route: '/mcp', session: 'x', version: '2025-06-18' } as const
  facts.session.publish({ ...session, event: 'opened' })
  facts.session.publish({ ...session, event: 'closed', reason: 'deleted', durationMs: 1_500 })
  facts.session.publish({ ...session, event: 'closed', reason: 'expired', durationMs: 1_500 })
  const values = await series(metrics)
  t.equal(values.get('causeway_drops_total{reason="noise",backend="files"}'), 5)
  t.equal(values.get('causeway_drops_total{reason="log_failed"}'), 1)
  t.equal(values.get('causeway_drops_total{reason="stuck_handler",backend="local",name="slow"}'), 1)
  t.equal(values.get(`mcp_server_session_duration_seconds_count{mcp_protocol_version="2025-06-18",${http}}`), 2)
  t.equal(values.get(`mcp_server_session_duration_seconds_sum{mcp_protocol_version="2025-06-18",${http}}`), 3)
})

t.test('callers cannot make series: methods, versions and names are bounded', async t => {
  const metrics = open(t)
  for (let i = 0; i < 2_000; i++) {
    facts.request.publish({ ...request, method: `made/up${i}`, version: `v${i}` })
    facts.request.publish({ ...request, name: `invented${i}`, outcome: 'tool_error' })
    facts.request.publish({ ...request, name: `refused${i}`, outcome: 'rpc_error', error: '-32602' })
    facts.request.publish({ ...request, name: `${'x'.repeat(200)}${i}` })
  }
  const counts = [...(await series(metrics)).keys()].filter(name => name.startsWith(`${server}_count`))
  t.equal(counts.length, 4)
  t.ok(counts.some(name => name.includes('mcp_method_name="_other"')))
  t.equal(counts.filter(name => name.includes('gen_ai_tool_name="_other"')).length, 3)
})

t.test('at most 500 tools of a backend have a name of their own', async t => {
  const metrics = open(t)
  for (let i = 0; i < 600; i++) {
    facts.operation.publish({ ...operation, name: `tool${i}` })
    facts.operation.publish({ ...operation, name: `tool${i}`, backend: 'files' })
  }
  // A name that succeeded once is told when it fails.
  facts.operation.publish({ ...operation, name: 'tool1', error: 'tool_error' })
  const values = await series(metrics)
  const counts = [...values.keys()].filter(name => name.startsWith(`${client}_count`))
  t.equal(counts.length, 2 * 501 + 1)
  const labels = 'mcp_method_name="tools/call",gen_ai_operation_name="execute_tool",gen_ai_tool_name='
  t.equal(values.get(`${client}_count{${labels}"_other",backend="docs"}`), 100)
  t.equal(values.get(`${client}_count{${labels}"tool1",error_type="tool_error",backend="docs"}`), 1)
})

t.test('a histogram has 5,000 series at most before names fall together', async t => {
  const metrics = open(t)
  for (let backend = 0; backend < 12; backend++) {
    for (let i = 0; i < 500; i++) facts.operation.publish({ ...operation, backend: `b${backend}`, name: `tool${i}` })
  }
  const values = await series(metrics)
  const counts = [...values].filter(([name]) => name.startsWith(`${client}_count`))
  t.equal(counts.length, 5_002)
  t.equal(
    counts.reduce((sum, [, value]) => sum + value, 0),
    6_000,
    'every call is counted'
  )
})

t.test('names of tools are escaped (S13)', async t => {
  const metrics = open(t)
  facts.operation.publish({ ...operation, name: 'a"b\n\\c' })
  t.match(await metrics.text(), 'gen_ai_tool_name="a\\"b\\n\\\\c"')
})

t.test('after close nothing is counted, and another gateway has a registry of its own', async t => {
  const one = open(t)
  one.close()
  for (const topic of Object.values(facts)) t.notOk(topic.wanted)
  const two = open(t)
  facts.request.publish(request)
  t.notMatch(await one.text(), `${server}_count`)
  t.match(await two.text(), `${server}_count`)
})

t.test('what the process needs is told under the usual names, event loop delay among it (P5)', async t => {
  const metrics = open(t)
  t.match(metrics.contentType, /^text\/plain; version=0\.0\.4/)
  // A delay that the gauges can see, after their first look.
  await new Promise(resolve => setTimeout(resolve, 60))
  const until = performance.now() + 60
  while (performance.now() < until);
  await new Promise(resolve => setTimeout(resolve, 50))
  const values = await series(metrics)
  t.ok(values.get('nodejs_eventloop_lag_max_seconds')! > 0.01)
  await new Promise(resolve => setTimeout(resolve, 300))
  t.ok((await series(metrics)).get('nodejs_eventloop_lag_p50_seconds')! < 0.015, 'a loop that waits has no delay')
  t.ok(values.get('nodejs_heap_size_used_bytes')! > 1e6)
  t.ok(values.get('process_cpu_seconds_total')! > 0)
  t.ok(values.get('process_start_time_seconds')! < Date.now() / 1000)
})

t.test('docs/observability.md lists the metrics that there are, with their labels and meaning', async t => {
  const metrics = open(t)
  facts.request.publish(request)
  facts.request.publish({ ...request, method: 'prompts/get', outcome: 'rpc_error', error: '-32603' })
  facts.request.publish({ ...request, outcome: 'rejected', error: 'session' })
  facts.operation.publish(operation)
  facts.operation.publish({ ...operation, method: 'prompts/get', error: 'timeout' })
  facts.drop.publish({ reason: 'stuck_handler', backend: 'local', name: 'slow' })
  facts.session.publish({ route: '/mcp', session: 'x', version: '2025-06-18', event: 'closed', durationMs: 1 })
  const text = await metrics.text()
  const told = [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)\n((?:[^#\n].*\n)*)/gm)].map(
    ([, name, help, type, values]) => {
      const labels = new Set([...values!.matchAll(/(\w+)="/g)].map(([, label]) => label!))
      labels.delete('le')
      return [name, type, [...labels].sort().join(', '), help]
    }
  )
  const docs = await readFile(new URL('../../docs/observability.md', import.meta.url), 'utf8')
  const rows = [...docs.matchAll(/^\| `(\w+)` \| (\w+) \| (.*) \| (.*) \|$/gm)].map(([, name, type, labels, help]) => [
    name,
    type,
    [...labels!.matchAll(/`(\w+)`/g)]
      .map(([, label]) => label)
      .sort()
      .join(', '),
    help
  ])
  t.same(rows, told)
})
