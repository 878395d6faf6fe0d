/**
 * What every Node process tells, under the usual names. The client library's own defaults start an observer, a timer of
 * 100 ms and a histogram that nothing ends, so they would outlive the gateway that asked for them.
 */
import { readdir } from 'node:fs/promises'
import type { Registry } from '@prometheus-io/client'
import type { EventLoop } from './event-loop.ts'
import { readCounters, readGauge } from './read.ts'

export function registerProcess(registry: Registry, loop: EventLoop): void {
  const lag = (part: string, read: () => number): void =>
    readGauge(
      registry,
      `nodejs_eventloop_lag_${part}_seconds`,
      `Event loop delay since the last scrape: ${part}.`,
      () => read() / 1e3
    )
  lag('mean', () => loop.mean)
  lag('p50', () => loop.percentile(50))
  lag('p99', () => loop.percentile(99))
  // Metrics are read in the order in which they were made: the last of these starts the next interval.
  lag('max', () => {
    const { max } = loop
    loop.restart()
    return max
  })

  const cpu = (kind: string, help: string, micros: () => number): void =>
    readCounters(registry, `process_cpu_${kind}seconds_total`, help, [], () => [[{}, micros() / 1e6]])
  cpu('', 'CPU time.', () => process.cpuUsage().user + process.cpuUsage().system)
  cpu('user_', 'CPU time in user code.', () => process.cpuUsage().user)
  cpu('system_', 'CPU time in the kernel.', () => process.cpuUsage().system)

  const started = Date.now() / 1000 - process.uptime()
  readGauge(registry, 'process_start_time_seconds', 'Start of the process, seconds since 1970.', () => started)
  readGauge(registry, 'process_resident_memory_bytes', 'Memory in RAM.', () => process.memoryUsage.rss())
  readGauge(registry, 'process_open_fds', 'Open file descriptors (Linux only).', openFiles)
  readGauge(registry, 'nodejs_heap_size_total_bytes', 'Size of the heap.', () => process.memoryUsage().heapTotal)
  readGauge(registry, 'nodejs_heap_size_used_bytes', 'Heap in use.', () => process.memoryUsage().heapUsed)
  readGauge(
    registry,
    'nodejs_external_memory_bytes',
    'Memory outside of the heap, buffers among it.',
    () => process.memoryUsage().external
  )
}

const openFiles = async (): Promise<number> => (await readdir('/proc/self/fd')).length
