/** What a tool says of its tasks, looked at before it is served: types do not hold for every author. */
import type { Warn } from './annotations.ts'
import type { AnyTool } from './handler.ts'

/** Throws a TypeError for what means nothing. */
export function checkTask({ task, execution }: AnyTool, warn: Warn): void {
  if (task === undefined) return
  if (typeof task !== 'object' || task === null) throw new TypeError('its `task` is no object')
  const { ttl, pollInterval, begins } = task
  for (const [name, ms] of Object.entries({ ttl, pollInterval })) {
    if (ms !== undefined && !(typeof ms === 'number' && ms > 0)) {
      throw new TypeError(`its \`task.${name}\` is no number of milliseconds`)
    }
  }
  if (begins !== undefined && begins !== 'call' && begins !== 'handler') {
    throw new TypeError('its `task.begins` is neither "call" nor "handler"')
  }
  if ((execution?.taskSupport ?? 'forbidden') === 'forbidden') {
    warn('its `task` says nothing as long as `execution.taskSupport` forbids tasks')
  }
}
