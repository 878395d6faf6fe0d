/**
 * Event ids: `<stream>_<number>`, characters of base64url. Unique in a session, and they tell the stream (basic/transports,
 * "Resumability and Redelivery", 1).
 */
import { createHash, randomBytes } from 'node:crypto'
import type { SessionId } from '../sessions/session.ts'

export interface Cursor {
  readonly stream: string
  /** Of the last entry that the reader has; 0: none yet. */
  readonly number: number
}

const pattern = /^([A-Za-z0-9_-]{8,32})_(0|[1-9]\d{0,14})$/

export const eventId = (stream: string, number: number): string => `${stream}_${number}`

/** Undefined for whatever was never an event id. */
export function parseEventId(text: string): Cursor | undefined {
  const found = pattern.exec(text)
  return found === null ? undefined : { stream: found[1]!, number: Number(found[2]) }
}

/** A name for the stream of one POST. */
export const newStream = (): string => randomBytes(12).toString('base64url')

/** The name of a session's channel: the same on every instance, another for every session. */
export const channelStream = (session: SessionId): string =>
  `c${createHash('sha256').update(session).digest('base64url').slice(0, 15)}`
