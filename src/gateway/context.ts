/** What dispatch and the methods work with; wired once in `compose/context.ts`. */
import type { Backend } from '../backends/backend.ts'
import type { OwnStates } from '../bridge/own-states.ts'
import type { Parked } from '../bridge/parked.ts'
import type { Asked } from '../exchanges/asked.ts'
import type { Countdown } from '../exchanges/countdown.ts'
import type { InFlight } from '../exchanges/in-flight.ts'
import type { ResponseMode } from '../exchanges/run.ts'
import type { RunningContext } from '../exchanges/running.ts'
import type { Links, LinksOptions } from '../links/links.ts'
import type { Live, Sessions } from '../sessions/lifecycle.ts'
import type { Client } from '../sessions/session.ts'
import type { Answers } from './answers.ts'
import type { Channels } from './channel.ts'
import type { ConfiguredHints } from './configured-hints.ts'
import type { Desks } from './desks.ts'
import type { HandOver } from './hand-over.ts'
import type { Known } from './known.ts'
import type { Linked } from './linked.ts'
import type { Listens } from './listens.ts'
import type { Lists } from './lists.ts'
import type { ModernHandles } from './modern-handles.ts'
import type { Peers } from './peers.ts'
import type { Posts } from './posts.ts'
import type { Seats } from './seats.ts'
import type { TaskKeeping } from './task-keeping.ts'
import type { TaskView } from './task-view.ts'
import type { Turns } from './turns.ts'

export interface Context {
  readonly sessions: Sessions
  readonly links: Links
  readonly asked: Asked
  readonly inFlight: InFlight
  readonly channels: Channels
  readonly posts: Posts
  readonly running: RunningContext
  readonly turns: Turns
  /** Where several instances serve a session. */
  readonly answers?: Answers
  readonly peers?: Peers
  readonly handOver?: HandOver
  /** For requests of the modern era. */
  readonly seats: Seats
  readonly listens: Listens
  readonly desks: Desks
  /** What their clients call tasks by. */
  readonly taskHandles: ModernHandles
  /**
   * Whether a modern backend is one process to a caller, so that its tasks live there: whatever a caller declares, all its
   * calls go to the same one.
   */
  readonly keepsTasks: (backend: Backend) => boolean
  readonly taskKeeping: TaskKeeping
  /** What of them waits for its client. */
  readonly parked: Parked
  /** States that modern backends made by themselves. */
  readonly ownStates: OwnStates
  /** Whether all that is said with the backend goes through one pipe. */
  readonly isPipe: (backend: Backend) => boolean
  /** What backends said of themselves, and what they list: for routes with several. */
  readonly known: Known
  readonly lists: Lists
  readonly hints: ConfiguredHints
  /** What backends linked to, on routes with several. */
  readonly linked: Linked
  /** What an upstream says outside of calls of clients. */
  readonly receive: LinksOptions['receive']
  /** Whether the route of a session has several backends. */
  readonly several: (live: Live) => boolean
  readonly tasks: TaskView
  /** `sessions.mode`. */
  readonly mode: 'required' | 'optional' | 'stateless'
  /** `streams.response` and `streams.sseAfter`. */
  readonly response: ResponseMode
  readonly sseAfter: Countdown
  /** `protocolVersion.onMismatch`. */
  readonly onMismatch: 'useSession' | 'reject'
  /** `server.limits.depth`, `server.limits.batch`. */
  readonly maxDepth: number
  readonly maxBatch: number
  /** Who the gateway is, for requests without a session. */
  readonly self: Client
  /** A session is open. */
  readonly opened: (live: Live) => void
  /** No new work is taken any more. */
  readonly draining: () => boolean
  /** The process is short of memory or time: no new sessions. */
  readonly strained: () => boolean
}
