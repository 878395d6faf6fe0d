/** A session as the parts of the gateway see it, without a store. */
import type { Live } from '../../src/sessions/lifecycle.ts'
import type { SessionRecord } from '../../src/sessions/session.ts'

let count = 0

export function recordOf(changes: Partial<SessionRecord> = {}, version = '2025-11-25'): SessionRecord {
  count++
  return {
    id: `session-${count}`,
    revision: 0,
    route: '/mcp',
    principal: 'anonymous',
    group: '127.0.0.1',
    client: { version, capabilities: '{}', info: '{"name":"test","version":"1"}' },
    operating: true,
    subscriptions: [],
    links: {},
    ...changes
  }
}

export const liveOf = (changes: Partial<SessionRecord> = {}, version?: string): Live => ({
  record: recordOf(changes, version),
  opened: 0,
  seen: 0,
  busy: 0,
  closed: false,
  ephemeral: false
})
