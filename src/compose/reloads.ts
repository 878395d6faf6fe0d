/** One config after the other: who hears of it. */

import { secretsOf } from '../config/secrets.ts'
import { touchedLists } from '../config/touched-lists.ts'
import { watched } from '../gateway/probes.ts'
import { greet } from '../generations/greeting.ts'
import type { Addresses } from './addresses.ts'
import type { DownstreamSide } from './downstream.ts'
import type { Instance } from './instance.ts'
import type { UpstreamSide } from './upstream.ts'

export function beginReloads(
  { generations, makers, settings, outcomes, sessions, logger }: Instance,
  { links, unions, retiring, health, probes }: UpstreamSide,
  { channels, listens }: DownstreamSide,
  { url }: Addresses
): void {
  settings.on(next => {
    logger.tune(next.logging, secretsOf(next))
    sessions.retime()
  })
  generations.begin({
    makers,
    settings,
    outcomes,
    sessions,
    links,
    channels,
    tell: (lives, path, previous, next) =>
      unions.succeeded(lives, {
        was: previous.routes.get(path),
        now: next.routes.get(path)!,
        touched: touchedLists(path, previous.config, next.config)
      }),
    retiring,
    swapped(next, previous) {
      greet(next, url, previous)
      listens.reloaded()
      health.serve(next.backends.values(), previous.backends.values())
      probes.watch(watched(next.routes.values()), ({ name }) => health.of(name).state === 'down')
    }
  })
}
