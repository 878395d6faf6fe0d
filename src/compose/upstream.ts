/** Towards backends: the links of sessions, what is heard of them outside of calls, and who looks after what is down or leaves. */
import type { Backend } from '../backends/backend.ts'
import { LegacyOverModern } from '../bridge/legacy-over-modern.ts'
import { ModernOverLegacy } from '../bridge/modern-over-legacy.ts'
import type { Context } from '../gateway/context.ts'
import { Health } from '../gateway/health.ts'
import { tellLevelLater } from '../gateway/link-level.ts'
import { cannotBeReached, Probes, watched } from '../gateway/probes.ts'
import { receive as hear } from '../gateway/receive.ts'
import { restore } from '../gateway/restore.ts'
import { self } from '../gateway/self.ts'
import { Turns } from '../gateway/turns.ts'
import { Unions } from '../gateway/unions.ts'
import { servedAt } from '../generations/reload.ts'
import { Retiring } from '../generations/retiring.ts'
import { Links, type LinksOptions } from '../links/links.ts'
import type { Message } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Asking } from './asking.ts'
import { wireBridging } from './bridging.ts'
import type { Instance } from './instance.ts'

export interface UpstreamSide {
  readonly links: Links
  readonly turns: Turns
  /** What an upstream says outside of calls of clients. */
  readonly receive: LinksOptions['receive']
  /** Says something to a session outside of its calls. */
  readonly outside: (live: Live, message: Message) => void
  readonly unions: Unions
  readonly health: Health
  readonly probes: Probes
  readonly retiring: Retiring
}

export function wireUpstream(instance: Instance, { asked, tasks }: Asking, all: () => Context): UpstreamSide {
  const { generations, sessions, inFlight, gates, lists } = instance
  const turns = new Turns()
  const outside = (live: Live, message: Message): void => {
    if (live.ephemeral) all().listens.tell(live, message)
    else void all().channels.post(live, message)
  }
  const beside = (message: Message, live: Live, backend: Backend): boolean => {
    const link = links.ready(live, backend)
    return link instanceof ModernOverLegacy && link.beside(message)
  }
  const receive: LinksOptions['receive'] = (message, link, backend, users) => {
    const { channels, listens } = all()
    hear(message, link, backend, users, { asked, inFlight, channels, listens, tasks, unions, beside })
  }
  const links: Links = new Links({
    sessions,
    self,
    receive,
    lost: (link, live) => {
      asked.lost(live, link)
      all().listens.lost(live)
      if (link instanceof LegacyOverModern) link.retire()
    },
    bridged: wireBridging(instance, receive, all),
    opened: (link, backend, users, restored) => {
      lists.opened(link, backend)
      if (backend.scope === 'session') for (const live of users) retiring.opened(live, backend)
      if (!restored) tellLevelLater(link, backend, users, { turns, receive })
    },
    missed(backend, users) {
      lists.invalidate(backend)
      for (const live of users) all().listens.missed(live)
    },
    heard: lists.heard,
    reopened: (link, backend, users, told) =>
      restore(link, backend, users, { changed: (...of) => unions.reopened(...of), receive, told })
  })
  const health = new Health(generations.current.backends.values(), name => {
    const backend = generations.current.backends.get(name)
    if (backend !== undefined) gates.hint(backend)
  })
  const probes = new Probes({
    away: backend => lists.down(backend, cannotBeReached(backend)),
    back(backend) {
      gates.hint(backend)
      void unions.back(backend)
    }
  })
  probes.watch(watched(generations.current.routes.values()))
  const unions: Unions = new Unions({
    lists,
    links,
    routes: { find: generations.find, all: () => generations.current.routes.values() },
    sessions: {
      *locals() {
        yield* sessions.locals()
        yield* all().listens.lives()
      }
    },
    receive,
    post: outside,
    isListening: live => live.ephemeral || all().channels.isOpen(live),
    failed: backend => probes.suspect(backend)
  })
  const retiring = new Retiring({
    links,
    inFlight,
    sessions,
    served: path => {
      const route = generations.find(path)
      return route && servedAt(route)
    },
    deadlineMs: () => generations.current.config.server.shutdown.deadline
  })
  return { links, turns, receive, outside, unions, health, probes, retiring }
}
