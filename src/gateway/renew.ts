/** What backends of the modern era say of themselves, asked anew when its time is over (2026-07-28 server/discover, server/utilities/caching). */
import type { Backend, Link } from '../backends/backend.ts'
import { facts } from '../telemetry/events.ts'
import type { Lists } from './lists.ts'

/** How long (ms) that may take. Then what was said before counts. */
const patienceMs = 2_000

/** Resolves when it is known again, or had its time. Never rejects. */
export async function renew(
  linked: readonly { readonly link: Link | undefined; readonly backend: Backend }[],
  lists: Pick<Lists, 'opened'>
): Promise<void> {
  const renewals = linked.flatMap(({ link, backend }) =>
    link?.renew === undefined ? [] : [once(link, backend, lists)]
  )
  if (renewals.length === 0) return
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>(resolve => {
    timer = setTimeout(resolve, patienceMs)
  })
  await Promise.race([late, Promise.all(renewals)])
  clearTimeout(timer)
}

async function once(link: Link, backend: Backend, lists: Pick<Lists, 'opened'>): Promise<void> {
  const before = link.server
  try {
    await link.renew!()
  } catch (error) {
    facts.notice.publish({ level: 'debug', text: 'it does not say what it is', backend: backend.name, error })
  }
  if (link.server !== before) lists.opened(link, backend)
}
