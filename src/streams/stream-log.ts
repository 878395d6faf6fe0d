/**
 * PORT. Streams kept for resumption (basic/transports, "Resumability and Redelivery"): bytes under a session. The log knows
 * no messages. A stream lives under its session, so that another session's cursor is not found by construction.
 *
 * Data that is appended or posted may be kept as it is: a buffer of its own that nobody writes to again, not a slice of a
 * larger or pooled one. The same buffer may be posted to any number of streams.
 */
import type { InstanceId } from '../instances/presence.ts'
import type { SessionId } from '../sessions/session.ts'

export interface StreamKey {
  readonly session: SessionId
  readonly stream: string
}

/** Where an upstream's own stream stands: JSON text, meaningful to the backend kind that made it. */
export type Place = string

/** What a later reader must know of a stream: JSON text of the caller's own. */
export type Facts = string

export interface AppendOptions {
  /** Kept in the same step. */
  readonly place?: Place | undefined
  /** May go first when the stream is over its bounds (progress, logs). Default false. */
  readonly expendable?: boolean
  /** A label that readers get back with the entry (the id of a server request). */
  readonly label?: string | undefined
}

/** An entry's number counts from 1; 0 is before the first. */
export interface Entry {
  readonly number: number
  readonly data: Uint8Array
  readonly label?: string
}

export interface Slice {
  /**
   * `entries`: those after the cursor, in order, maybe none yet. `over`: likewise, and nothing will follow these.
   * `trimmed`: entries after the cursor are gone that were not expendable; `entries` are what is left after the gap.
   * `unknown`: no such stream, or the cursor is past its last entry.
   */
  readonly state: 'entries' | 'over' | 'trimmed' | 'unknown'
  readonly entries: readonly Entry[]
  /** Number of the stream's last entry, 0 when there was none. */
  readonly last: number
  /** Whether the stream has ended (more entries than `limit` may still follow). */
  readonly ended: boolean
  /** What `open` was given; empty for streams of posts. */
  readonly facts: Facts
  /** Who took the stream last, and the last entry that a reader said it was given; undefined when nobody took it. */
  readonly taken?: { readonly reader: string; readonly given: number }
}

export type Unwatch = () => Promise<void>

export interface Claimed {
  readonly writer: Writer
  readonly facts: Facts
  readonly place: Place | undefined
  readonly last: number
}

export interface StreamLog {
  /** A stream with one writer. Rejects when the stream is there already. */
  open(key: StreamKey, facts: Facts, place?: Place): Promise<Writer>
  /**
   * Many writers, no end: channels, inboxes, a stream's answers. Makes the stream when needed. Resolves to the entry's
   * number; rejects when the stream has one writer.
   */
  post(key: StreamKey, data: Uint8Array, options?: AppendOptions): Promise<number>
  /** Makes a stream for posts when it is not there. */
  ensure(key: StreamKey): Promise<void>
  /** At most `limit` entries after the cursor. */
  read(key: StreamKey, after: number, limit: number): Promise<Slice>
  /**
   * Resolves once live. Wakes after an append, post, end, claim, take, purge, and after any gap in the connection, sometimes for
   * nothing. The stream need not be there. `wake` must not throw.
   */
  watch(key: StreamKey, wake: () => void): Promise<Unwatch>
  /**
   * This one reads from now on: whoever read before finds another's name in its slices, and is woken. False when there is no such
   * stream.
   */
  take(key: StreamKey, reader: string): Promise<boolean>
  /** The reader was given the entries up to this number. Of one that does not read any more it is not taken down. */
  give(key: StreamKey, reader: string, number: number): Promise<void>
  /** Who writes an open stream; undefined once it ended, or when nobody does. */
  owner(key: StreamKey): Promise<InstanceId | undefined>
  /** Takes an open stream over from a dead instance: one claimant wins, the former writer is fenced. Undefined when lost. */
  claim(key: StreamKey, from: InstanceId, to: InstanceId): Promise<Claimed | undefined>
  /** Removes every stream of a session. */
  purge(session: SessionId): Promise<void>
  close(): Promise<void>
}

export interface Writer {
  /**
   * Appends, keeps the place, trims, wakes: one step. Resolves to the entry's number. Rejects with {@link Fenced} (claimed
   * by another) or {@link Lost} (the stream is gone), never the one for the other, and then changes nothing.
   */
  append(data: Uint8Array, options?: AppendOptions): Promise<number>
  /** Nothing follows; a later append rejects. The entries stay for `streams.retain`. Rejects like `append`; twice is fine. */
  end(): Promise<void>
}

/** Another instance claimed the stream. */
export class Fenced extends Error {}

/** The stream is no longer in the log. */
export class Lost extends Error {}

/**
 * Bounds of a log: bytes and milliseconds. A stream over its bounds loses its expendable entries, the oldest first, then the
 * oldest others. One entry always stays, but an expendable one never drives out another that is not.
 */
export interface StreamBounds {
  /** Entries of one stream. */
  readonly events: number
  /** Bytes of one stream; an entry that is larger is kept alone. */
  readonly bytes: number
  /** Bytes of all streams; over it the oldest ended streams go first. */
  readonly total: number
  /** How long an ended stream is kept. */
  readonly retainMs: number
}
