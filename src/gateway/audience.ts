/** Who sees the same: a session's principal, revision and capabilities say which lists it has. */
import { hash } from 'node:crypto'
import type { Live } from '../sessions/lifecycle.ts'
import type { SessionRecord } from '../sessions/session.ts'

/** Who gets the same lists from a backend that has a link for each session. */
export function audienceOf({ record, modern }: Live): string {
  let audience = audiences.get(record)
  if (audience === undefined) {
    const { principal, client } = record
    audience = hash(
      'sha256',
      JSON.stringify([principal, client.version, client.capabilities, modern === true]),
      'base64'
    )
    audiences.set(record, audience)
  }
  return audience
}

/** Calls of the modern era ask each time. */
const audiences = new WeakMap<SessionRecord, string>()
