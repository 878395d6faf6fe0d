/** What of a subscription is honoured: what is advertised, and of resources those that the upstream agrees to tell of. */
import type { Backend, Server } from '../backends/backend.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Context } from './context.ts'
import type { Filter } from './listen-filter.ts'
import type { ListeningSeat } from './listening-seat.ts'
import { serversOf } from './methods/meet.ts'
import type { Subscription } from './subscription.ts'

export interface HonourOptions {
  /** Links of a route with several backends are to be opened. Must not throw. */
  readonly listen: (live: Live) => void
  readonly patienceMs?: number
}

/** How long (ms) upstreams have to agree, and how many resources are asked for at once. */
const usualPatienceMs = 2_000
const atOnce = 32

/** Rejects, where there is one backend, with the GatewayError of its link. */
export async function honour(
  subscription: Subscription,
  seat: ListeningSeat,
  context: Context,
  { listen, patienceMs = usualPatienceMs }: HonourOptions
): Promise<Omit<Filter, 'tasks'>> {
  const { filter } = subscription
  const { live, route } = seat
  const { union, backend } = route
  let offers: (list: string) => boolean
  if (union === undefined) {
    const known = filter.uris.length === 0 ? settled(backend!, context) : undefined
    const isNothing = known !== undefined && !filter.lists.some(list => tells(known, list))
    const server = isNothing ? known : (await context.links.get(live, backend!)).server
    offers = list => tells(server, list)
  } else {
    listen(live)
    await within(patienceMs, serversOf(live, union, context))
    offers = list => union.members.some(member => context.known.has(member.backend, list) !== false)
  }
  const agreed = new Set<string>()
  let waits = true
  const asking = eachOf(filter.uris, async uri => {
    if (!waits || !seat.subscriptions.has(subscription)) return
    if (await seat.subscribe(uri, subscription)) agreed.add(uri)
  })
  await within(patienceMs, asking)
  waits = false
  const uris = filter.uris.filter(uri => agreed.has(uri))
  for (const uri of filter.uris) if (!agreed.has(uri)) seat.unsubscribe(uri, subscription)
  return { lists: filter.lists.filter(offers), uris }
}

/** What the backend said of itself, where it would say the same again: a program would be started for nothing. */
function settled(backend: Backend, { known, isPipe }: Context): Server | undefined {
  const server = known.get(backend)
  return server?.discovered !== undefined || isPipe(backend) ? server : undefined
}

const tells = ({ capabilities }: Server, list: string): boolean =>
  (capabilities[list] as { listChanged?: unknown } | undefined)?.listChanged === true

async function eachOf(uris: readonly string[], act: (uri: string) => Promise<void>): Promise<void> {
  const left = uris.values()
  const worker = async (): Promise<void> => {
    for (const uri of left) await act(uri)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  // Whoever comes later than that may fail.
  work.catch(() => {})
  try {
    await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
