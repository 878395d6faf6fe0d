/** What of a backend's `tasks` a client is told (2025-11-25 basic/utilities/tasks, "Task Isolation and Access Control"). */
import type { Backend } from '../backends/backend.ts'
import { withoutTasks } from '../bridge/older-capabilities.ts'
import { hasTasks } from '../protocol/version.ts'

type Capabilities = Readonly<Record<string, unknown>>

/**
 * Nothing of the extension of the modern era. None where the client's revision, `version`, has none. No lists of an upstream that several sessions share: it cannot tell
 * whose a task is. The same object when there is nothing to leave out.
 */
export function withTasksFor(declared: Capabilities, version: string, { scope }: Pick<Backend, 'scope'>): Capabilities {
  const capabilities = withoutTasks(declared)
  const { tasks, ...rest } = capabilities
  if (tasks === undefined) return capabilities
  if (!hasTasks(version)) return rest
  if (scope === 'session' || typeof tasks !== 'object' || tasks === null || !('list' in tasks)) return capabilities
  const { list: _, ...others } = tasks
  return { ...capabilities, tasks: others }
}
