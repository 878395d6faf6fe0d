/** Every promise that is rejected and looked at by nobody fails the test that is at it. */
import type { Test } from 'tap'

export function failOnRejections(t: Test): void {
  const seen: unknown[] = []
  const note = (reason: unknown): void => void seen.push(reason)
  process.on('unhandledRejection', note)
  t.teardown(async () => {
    // Node tells them after the microtasks of the turn.
    await new Promise(resolve => setImmediate(resolve))
    process.off('unhandledRejection', note)
    if (seen.length > 0) throw new Error(`unhandled rejections: ${seen.map(String).join('; ')}`)
  })
}
