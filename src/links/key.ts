/** Who shares a link: every session has its own, or all sessions of a shared backend have one. */
import type { Backend } from '../backends/backend.ts'
import type { SessionId } from '../sessions/session.ts'

export const linkKey = (backend: Backend, session: SessionId): string =>
  backend.scope === 'shared' ? backend.identity : `${session} ${backend.identity}`
