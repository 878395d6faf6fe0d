/** Clients and upstreams that are not both of the legacy era. */
import { anonymous } from '../auth/principal.ts'
import type { Backend, Link, Upstream } from '../backends/backend.ts'
import type { Asking } from '../bridge/interaction.ts'
import { type BridgeOptions, LegacyOverModern } from '../bridge/legacy-over-modern.ts'
import { Listening } from '../bridge/listening.ts'
import { ModernOverLegacy } from '../bridge/modern-over-legacy.ts'
import { SealedStates } from '../bridge/sealed-states.ts'
import { ofNobody } from '../gateway/admit.ts'
import type { Context } from '../gateway/context.ts'
import { wantLevel } from '../gateway/link-level.ts'
import { refusal } from '../gateway/refusal.ts'
import type { LinksOptions } from '../links/links.ts'
import type { Instance } from './instance.ts'

/** What a link is to such a client. */
export function wireBridging(
  { settings, lists }: Instance,
  receive: LinksOptions['receive'],
  all: () => Pick<Context, 'links' | 'parked' | 'ownStates' | 'turns'>
): NonNullable<LinksOptions['bridged']> {
  const listenings = new WeakMap<Upstream, Listening>()
  const listening = (upstream: Upstream, backend: string): Listening => {
    const found = listenings.get(upstream) ?? new Listening(upstream, backend)
    listenings.set(upstream, found)
    return found
  }
  const options: BridgeOptions = settings.follow(
    { listening, receive, heard: lists.heard },
    ({ input: { rounds } }) => ({ rounds })
  )
  return (link: Link, live, backend) => {
    const { links, parked, ownStates, turns } = all()
    if (link.era === 'legacy') {
      return new ModernOverLegacy(link, { live, backend, parked, refusal: refusalOf(backend) }, level =>
        wantLevel(level, live, link, backend, links.users(live, backend), { turns, receive })
      )
    }
    if (live.modern !== true) return new LegacyOverModern(link, live, backend, options)
    const { principal } = live.record
    // Who is not told apart from others has nothing to be told apart by.
    if (principal === anonymous.key) return link
    return new SealedStates(link, ownStates, { principal, backend: backend.identity })
  }
}

const refusalOf =
  ({ scope }: Backend): Asking['refusal'] =>
  (asked, capabilities) =>
    scope === 'shared' ? ofNobody : refusal(asked, capabilities)
