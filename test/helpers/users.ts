/** Callers who are told apart by a bearer token that is their name. */
import type { Authenticator } from '../../src/auth/principal.ts'
import { GatewayError } from '../../src/errors.ts'

export const users: Authenticator = {
  authenticate({ authorization }) {
    const user = /^Bearer ([a-z]+)$/.exec(authorization ?? '')?.[1]
    if (user === undefined) throw new GatewayError('origin', 'who are you?')
    return { key: `issuer ${user}`, issuer: 'issuer', subject: user }
  }
}

/** The header of a request of theirs. */
export const as = (user: string): { readonly authorization: string } => ({ authorization: `Bearer ${user}` })
