/**
 * What the log in memory keeps of one stream, made for many idle ones: nothing is allocated before it is needed, and the
 * stream is its own node in the log's two queues.
 */
import type { InstanceId } from '../instances/presence.ts'
import type { SessionId } from '../sessions/session.ts'
import type { Entries } from './entries.ts'
import type { Facts, Place, Writer } from './stream-log.ts'

/** What a stream with one writer has besides entries. */
export interface Opened {
  readonly facts: Facts
  place: Place | undefined
  owner: InstanceId
  /** Any other writer of this stream is fenced. */
  writer: Writer | undefined
  /** Clock reading in milliseconds; undefined while it is open. */
  endedAt: number | undefined
}

export class MemoryStream {
  readonly session: SessionId
  readonly name: string
  /** False for a key that is only watched. */
  exists = false
  opened: Opened | undefined
  entries: Entries | undefined
  watchers: readonly (() => void)[] | undefined
  /** Who took it, and what was given since it is there. */
  taken: { readonly reader: string; readonly given: number } | undefined
  queue: Queue | undefined
  previous: MemoryStream | undefined
  next: MemoryStream | undefined

  constructor(session: SessionId, name: string) {
    this.session = session
    this.name = name
  }

  wake(): void {
    const { watchers } = this
    if (watchers === undefined) return
    for (const watcher of watchers) {
      if (this.watchers?.includes(watcher)) call(watcher)
    }
  }
}

function call(watcher: () => void): void {
  try {
    watcher()
  } catch (error) {
    process.emitWarning(error as Error)
  }
}

/** Streams in the order in which they were put here; a stream is in one queue at most. */
export class Queue {
  first: MemoryStream | undefined
  #last: MemoryStream | undefined

  /** Puts a stream at the end, from wherever it was. */
  put(stream: MemoryStream): void {
    if (this.#last === stream) return
    stream.queue?.remove(stream)
    stream.queue = this
    stream.previous = this.#last
    if (this.#last === undefined) this.first = stream
    else this.#last.next = stream
    this.#last = stream
  }

  remove(stream: MemoryStream): void {
    if (stream.previous === undefined) this.first = stream.next
    else stream.previous.next = stream.next
    if (stream.next === undefined) this.#last = stream.previous
    else stream.next.previous = stream.previous
    stream.previous = undefined
    stream.next = undefined
    stream.queue = undefined
  }
}
