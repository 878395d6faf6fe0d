/** PORT. A configured upstream, and one conversation with it. Every kind has this one shape; eras and transports hide behind it. */
import type { Principal } from '../auth/principal.ts'
import type { Message } from '../protocol/message.ts'
import type { Era } from '../protocol/version.ts'
import type { Client, LinkState } from '../sessions/session.ts'
import type { Place } from '../streams/stream-log.ts'

export interface Backend {
  readonly name: string
  /**
   * Hash of what makes it this backend (kind, address or command, scope; its name where links can be reopened, for two may have
   * one address); its links are recorded under it. Tuning is not in it.
   */
  readonly identity: string
  /** `session`: a link serves one session. `shared`: one link for all sessions, no client capabilities declared upstream. */
  readonly scope: 'session' | 'shared'
  /** Of all of its links. */
  readonly knowsModern?: true
  /**
   * Connects and shakes hands. Rejects with a GatewayError (`backend_unavailable`, `backend_invalid`, `timeout`, ...) that
   * names the backend; a rejected opening leaves nothing behind.
   */
  open(options: OpenOptions): Promise<Link>
  /** New headers, time-outs, limits, while it runs. */
  tune(options: Tuning): void
  /** Closes what the backend shares; links are closed by who opened them. */
  close(): Promise<void>
}

/** Milliseconds and bytes. */
export interface Tuning {
  readonly headers?: Readonly<Record<string, string>>
  /** Silence after which an opening, a request or a call is given up. */
  readonly timeout?: number
  /** How many processes may run at once; those that run stay. */
  readonly maxProcesses?: number
  /** It left the config: what becomes of it says nothing of a backend that has its name from now on. */
  readonly retired?: true
}

export interface OpenOptions {
  readonly principal: Principal
  /** What is declared upstream. Shared backends declare no capabilities. */
  readonly client: Client
  /** Reopen instead of open: no handshake, the upstream session goes on. */
  readonly state?: LinkState
  /** Of the opening alone. */
  readonly signal: AbortSignal
  /** What belongs to no exchange: notifications and requests of the upstream. A callback, so that idle links cost nothing. Must not throw. */
  readonly receive: (message: Message) => void
  /** The conversation is over without `close`: the child died, the upstream forgot the session. Called once; exchanges that are open fail by themselves. */
  readonly ended: (reason: Error) => void
  /** What belongs to no exchange could not be heard for a while, and is not told again. Must not throw. */
  readonly missed?: () => void
  /**
   * Whether what belongs to no exchange is heard from now on. Of upstreams that say it on a stream of its own; others are
   * heard as long as they are linked. Must not throw.
   */
  readonly heard?: (on: boolean) => void
}

/** What the upstream said of itself. */
export interface Server {
  /** The revision spoken with it. */
  readonly version: string
  /** `capabilities` of its InitializeResult. */
  readonly capabilities: Readonly<Record<string, unknown>>
  /** JSON text of the whole InitializeResult; of a modern upstream, what would be one. */
  readonly result: string
  /** JSON text of the DiscoverResult; of modern upstreams alone. */
  readonly discovered?: string
  /** When that was read, milliseconds of `performance.now()`. */
  readonly discoveredAt?: number
}

/** A modern upstream, asked by the gateway itself. It outlives its links, and is the same object for all of them. */
export interface Upstream {
  exchange(request: Message): Exchange
}

/** A request as its client sent it, and where: what is the same when it comes back with answers. */
export interface Origin {
  readonly route: string
  readonly principal: Principal
  readonly request: Message
}

/** Of one exchange. */
export interface Call {
  readonly principal: Principal
  /** What the client's `Mcp-Name` says, of a method of which it is not known here what that mirrors. */
  readonly named?: string
  /** Of a client that can come back with answers. */
  readonly origin?: Origin | undefined
  /** Closes the client's connection now, while the exchange goes on; the client comes back for the rest (R18). */
  closeStream?(): void
}

/**
 * Of a modern upstream: stateless. Requests may say in `_meta` who asks; what they leave out is added from the opening's
 * `client`. Notifications and responses come as the upstream sent them, ids and tokens apart. Nothing is received outside of
 * exchanges, `resume` is refused, and what is given to `send` goes nowhere.
 */
export interface Link {
  readonly era: Era
  /**
   * Legacy in its ways, but it knows what modern requests carry (`_meta`, `inputResponses`), which is for it, and what it asks
   * within them has a key ({@link keyOfAsk}).
   */
  readonly knowsModern?: true
  /** What all links of one modern upstream have in common; undefined for legacy ones, unless they are handlers of this process. */
  readonly upstream?: Upstream
  /** Of a modern upstream what it said last. */
  readonly server: Server
  /** Of a modern upstream: asks it what it is, when what it said does not hold any more. Rejects with a GatewayError. */
  renew?(): Promise<void>
  /** What another instance needs to reopen it; undefined when it cannot move. */
  readonly state: LinkState | undefined
  /** Sends a request. Never throws: what goes wrong rejects the exchange's `next`. */
  exchange(request: Message, call: Call): Exchange
  /** Goes on with an exchange that another instance began (its response carries `clientId`). Only where `state` is defined. */
  resume(clientId: string, place: Place, call: Call): Exchange
  /** A notification, or the answer to a request of the upstream, with the upstream's id. */
  send(message: Message): Promise<void>
  /** Whether somebody waits for what belongs to no exchange (http: the upstream GET stream). */
  listen(on: boolean): void
  /**
   * Where an upstream may say beside an exchange what belongs to it (http: on the GET stream, although each exchange has its
   * own): listens from now on. Resolves once that is heard, or cannot be; never rejects. Undefined: at once.
   */
  hear?(): Promise<void> | undefined
  /**
   * Ends the conversation and tells the upstream; open exchanges end as cancelled. `stays`: where `state` is defined the upstream
   * is not told, because another instance goes on with it. Never rejects.
   */
  close(stays?: boolean): Promise<void>
}

/**
 * One request's messages in order, requests of the upstream among them (with the upstream's id); the last is the response,
 * exactly once, with the caller's own id text. Progress carries the caller's own token. `next` rejects once with a
 * GatewayError when the exchange fails (`backend_session_lost`: refused before it ran, may be sent again); after that, after
 * the response and after `cancel` it is done. At its end it holds nothing of the transport.
 */
export interface Exchange extends AsyncIterableIterator<Message> {
  /** Where the upstream's stream stands after what was yielded; undefined when it cannot be resumed. */
  readonly place: Place | undefined
  /** Tells the upstream. A waiting `next` settles with done; nothing more is yielded. `return` does the same. */
  cancel(reason?: string): void
  /** Lets go without telling the upstream. A waiting `next` settles with done. */
  detach(): void
}
