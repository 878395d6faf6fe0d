/** Who the gateway is. */
import { readFileSync } from 'node:fs'
import { latestLegacy } from '../protocol/version.ts'
import type { Client } from '../sessions/session.ts'

/** Of this release. */
export const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** Towards upstreams that serve several clients, or one request without a session. */
export const self: Client = {
  version: latestLegacy,
  capabilities: '{}',
  info: JSON.stringify({ name: 'causeway', title: 'Causeway', version })
}
