/** A client and an upstream of different eras. */
import type { Backend, Link, Upstream } from '../backends/backend.ts'
import type { Asking } from '../bridge/interaction.ts'
import { type BridgeOptions, LegacyOverModern } from '../bridge/legacy-over-modern.ts'
import { Listening } from '../bridge/listening.ts'
import { ModernOverLegacy } from '../bridge/modern-over-legacy.ts'
import { ofNobody } from '../gateway/admit.ts'
import type { Context } from '../gateway/context.ts'
import { wantLevel } from '../gateway/link-level.ts'
import { refusal } from '../gateway/refusal.ts'
import type { LinksOptions } from '../links/links.ts'
import type { Instance } from './instance.ts'

/** What a link is to a client of the other era. */
export function wireBridging(
  { settings }: Instance,
  receive: LinksOptions['receive'],
  all: () => Pick<Context, 'links' | 'parked' | 'turns'>
): NonNullable<LinksOptions['bridged']> {
  const listenings = new WeakMap<Upstream, Listening>()
  const listening = (upstream: Upstream, backend: string): Listening => {
    const listening = listenings.get(upstream) ?? new Listening(upstream, backend)
    listenings.set(upstream, listening)
    return listening
  }
  const options: BridgeOptions = settings.follow({ listening, receive }, ({ input: { rounds } }) => ({ rounds }))
  return (link: Link, live, backend) => {
    if (link.era === 'modern') return new LegacyOverModern(link, live, backend, options)
    const { links, parked, turns } = all()
    return new ModernOverLegacy(link, { live, backend, parked, refusal: refusalOf(backend) }, level =>
      wantLevel(level, live, link, backend, links.users(live, backend), { turns, receive })
    )
  }
}

const refusalOf =
  ({ scope }: Backend): Asking['refusal'] =>
  (asked, capabilities) =>
    scope === 'shared' ? ofNobody : refusal(asked, capabilities)
