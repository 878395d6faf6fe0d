// Loaded into every measured server (`node --expose-gc --import`), floor and gateway alike. Over the IPC channel the
// bench asks for the memory after a full collection, of the kind that V8 makes when memory runs short: what it keeps only
// to be quick, above all the young generation that grew with past traffic, is given back first. It also tells how long
// scavenges took since the last question, and how long the event loop was held up at the most. Plain JavaScript, like all that is measured: what strips types weighs 10 MB.
import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

let scavenges = []
const observer = new PerformanceObserver(list => {
  for (const { detail, duration } of list.getEntries()) {
    if (detail.kind === constants.NODE_PERFORMANCE_GC_MINOR) scavenges.push(duration)
  }
})
observer.observe({ entryTypes: ['gc'] })

const collect = async () => {
  const sorted = scavenges.sort((a, b) => a - b)
  const scavenge = sorted[sorted.length >> 1] ?? 0
  for (let pass = 0; pass < 3; pass++) {
    await globalThis.gc({ type: 'major', execution: 'async', flavor: 'last-resort' })
    await sleep(50)
  }
  scavenges = []
  const { rss, heapUsed, external } = process.memoryUsage()
  return { rss, used: heapUsed + external, scavenge }
}

// A monitor wakes the process all the time, so that there is one only where somebody asks.
let delays
const longestTask = () => {
  delays ??= monitorEventLoopDelay({ resolution: 1 })
  const longest = delays.max / 1e6
  delays.reset()
  delays.enable()
  return longest
}

process.on('message', question => {
  if (question === 'memory') void collect().then(memory => process.send(memory))
  if (question === 'task') process.send(longestTask())
})
process.channel?.unref() // a thread of the program has none
