import { createHash } from 'node:crypto'

/** Of what is served from a place, in whatever thread. */
export const identityOf = (place: string): string =>
  createHash('sha256')
    .update(JSON.stringify(['module', place]))
    .digest('base64url')
