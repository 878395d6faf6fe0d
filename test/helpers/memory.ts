/** How many bytes are in use after everything that nobody holds was collected. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

export async function usedBytes(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    collect()
    // Buffers are freed after the collection that found them unused.
    await new Promise(resolve => setImmediate(resolve))
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
