/** What the log says of reloads. */
import type { ConfigDiff } from '../config/diff.ts'
import { facts } from '../telemetry/events.ts'
import type { Outcomes } from './outcomes.ts'

/** What changed, by name and path. What is new is greeted besides. */
export function tellChanged({ backends, routes, settings }: ConfigDiff): void {
  const { unchanged: _, ...ofBackends } = backends
  const { unchanged: __, ...ofRoutes } = routes
  const data = some({ backends: some(ofBackends), routes: some(ofRoutes), settings })
  facts.notice.publish({ level: 'info', text: 'the config changed', data })
}

export function tellUnchanged(): void {
  facts.notice.publish({ level: 'info', text: 'the config was read again: nothing changed' })
}

export function tellRefused(reason: string): void {
  const problems = reason.split('\n')
  const more = problems.length > 1 ? `, and ${problems.length - 1} more` : ''
  const text = `the config was refused, the one before goes on: ${problems[0]}${more}`
  facts.notice.publish({ level: 'error', text, ...(more === '' ? {} : { data: { problems } }) })
}

/** Said when it changes, not with every reload. */
export function tellRestart(restart: readonly string[], outcomes: Outcomes): void {
  const before = outcomes.restart
  outcomes.restart = restart
  if (restart.length === 0 || restart.join() === before.join()) return
  facts.notice.publish({ level: 'warn', text: `changed, but needs a restart to take effect: ${restart.join(', ')}` })
}

/** Without members that have nothing in them. */
const some = (members: Readonly<Record<string, object>>): Record<string, object> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => Object.keys(value).length > 0))
