/** What dispatch and the methods work with, and what each call does. */
import { forOlderClient } from '../bridge/older-client.ts'
import type { RunningContext } from '../exchanges/running.ts'
import { admit } from '../gateway/admit.ts'
import { Answers } from '../gateway/answers.ts'
import type { Context } from '../gateway/context.ts'
import { HandOver } from '../gateway/hand-over.ts'
import { opened } from '../gateway/opened.ts'
import { Peers } from '../gateway/peers.ts'
import { isFor } from '../gateway/receive.ts'
import { self } from '../gateway/self.ts'
import type { Asking } from './asking.ts'
import type { DownstreamSide } from './downstream.ts'
import type { Instance } from './instance.ts'
import type { ModernEdge } from './modern.ts'
import type { UpstreamSide } from './upstream.ts'

export function wireContext(
  instance: Instance,
  asking: Asking,
  upstream: UpstreamSide,
  downstream: DownstreamSide,
  modern: ModernEdge
): Context {
  const { config, settings, sessions, inFlight, countdowns, known, hints, lists, pressure, log, presence, shared } =
    instance
  const { asked } = asking
  const { channels } = downstream
  const maxDepth = config.server.limits.depth
  const among = shared && {
    answers: new Answers({ log, asked, instance: shared.name, maxDepth }),
    handOver: new HandOver({ log, presence, maxDepth }),
    peers: new Peers({ bus: shared.bus, sessions, inFlight, channels })
  }
  const { links, turns, receive } = upstream
  return settings.follow(
    {
      ...asking,
      ...downstream,
      ...modern,
      ...among,
      sessions,
      links,
      inFlight,
      running: wireCalls(instance, asking, upstream, downstream),
      turns,
      receive,
      known,
      hints,
      lists,
      maxDepth,
      self,
      opened,
      draining: () => instance.state === 'draining',
      strained: () => pressure.level !== 'none'
    },
    ({ sessions: { mode }, streams: { response, sseAfter }, protocolVersion: { onMismatch }, server: { limits } }) => ({
      mode,
      response,
      sseAfter: countdowns.of(sseAfter),
      onMismatch,
      maxBatch: limits.batch
    })
  )
}

const wireCalls = (
  { inFlight, countdowns, limits, gates }: Instance,
  { asked, tasks }: Asking,
  { links, unions, outside }: UpstreamSide,
  { channels }: DownstreamSide
): RunningContext => ({
  links,
  asked,
  inFlight,
  countdowns,
  limits: limits.of,
  gates,
  adapt: (message, { request, live, backend }) => {
    if (message.kind === 'response') unions.answered(message, request, live, backend)
    else unions.heard(message, backend)
    if (live.modern === true) return message
    const seen = tasks.toClient(message, live, backend, request)
    if (message.kind === 'response') return forOlderClient(seen, request.method!, live.record.client.version)
    return isFor(message, live, backend, unions.of(live)) ? seen : undefined
  },
  admit: (request, { live, streamable, backend }) =>
    tasks.refusal(request, live, backend) ??
    admit(tasks.toClient(request, live, backend), live, backend, streamable || channels.isOpen(live)),
  outside
})
