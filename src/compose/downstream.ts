/** Towards clients: the streams on which sessions, calls and subscriptions hear. */
import { Channels } from '../gateway/channel.ts'
import type { Context } from '../gateway/context.ts'
import { goOn } from '../gateway/go-on.ts'
import { listening } from '../gateway/listening.ts'
import { Listens } from '../gateway/listens.ts'
import { Orphans } from '../gateway/orphans.ts'
import { Posts } from '../gateway/posts.ts'
import { Unended } from '../gateway/unended.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Asking } from './asking.ts'
import type { Instance } from './instance.ts'
import type { UpstreamSide } from './upstream.ts'

export type DownstreamSide = Pick<Context, 'channels' | 'posts' | 'listens'>

export function wireDownstream(
  { settings, generations, log, presence, sessions, shared }: Instance,
  { asked }: Asking,
  { links, unions }: UpstreamSide,
  all: () => Pick<Context, 'running'>
): DownstreamSide {
  const channels = new Channels(
    settings.follow(
      {
        log,
        asked,
        changes: (live: Live) => unions.changes(live),
        listening: (live: Live, on: boolean) => {
          listening(live, on, links, generations.find(live.record.route))
          if (on) unions.listen(live)
        }
      },
      ({ streams: { retry } }) => ({ retryMs: retry })
    )
  )
  const among = shared && {
    shared: {
      orphans: new Orphans({
        log,
        presence,
        goOn(key, claimed) {
          const live = sessions.local(key.session)
          const backend = live && generations.find(live.record.route)?.backend
          const source = live && backend && goOn(claimed, live, backend, all().running)
          if (source === undefined) return false
          posts.goOn(live!, key, source, claimed)
          return true
        }
      }),
      unended: new Unended(
        settings.follow({ log, instance: presence.id }, ({ streams }) => ({ retainMs: streams.retain }))
      )
    }
  }
  const posts: Posts = new Posts(
    log,
    asked,
    settings.follow({ ...among }, ({ streams: { retry, closeAfter, behind } }) => ({
      retryMs: retry,
      closeAfterMs: closeAfter,
      behind
    }))
  )
  const listens = new Listens(
    settings.follow(
      { find: generations.find, listen: (live: Live) => unions.listen(live) },
      ({ sessions: { max, perAddress } }) => ({
        caps: { total: max, perGroup: perAddress }
      })
    )
  )
  return { channels, posts, listens }
}
