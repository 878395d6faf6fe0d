/** What the log says of what is served: at the start, and of what a change of the config added. */
import { notes } from '../config/notes.ts'
import { facts } from '../telemetry/events.ts'
import type { Generation } from './generation.ts'

/** `url`: of the route at a path. */
export function greet(next: Generation, url: (path: string) => string, previous?: Generation): void {
  const told = new Set(previous === undefined ? [] : notes(previous.config))
  for (const text of notes(next.config)) if (!told.has(text)) facts.notice.publish({ level: 'warn', text })
  for (const { path, backends } of next.routes.values()) {
    if (previous?.routes.has(path)) continue
    const names = backends.map(({ name }) => name).join(', ')
    facts.notice.publish({ level: 'info', text: `serving ${names} at ${url(path)}` })
  }
}
