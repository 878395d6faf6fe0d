import type { Links } from '../links/links.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Route } from './route.ts'

/** Whether the session waits for news. A link that another instance opened is opened here too when it does. */
export function listening(live: Live, on: boolean, links: Links, route: Route | undefined): void {
  links.listen(live, on)
  if (!on || route === undefined) return
  for (const backend of route.backends) {
    if (live.record.links[backend.identity] !== undefined) links.get(live, backend).catch(() => {})
  }
}
