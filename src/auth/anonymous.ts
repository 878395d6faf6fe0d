/** Everybody is the same caller: for gateways on loopback, or behind something that authenticates. */
import { type Authenticator, anonymous } from './principal.ts'

export const anonymousAuthenticator: Authenticator = { authenticate: () => anonymous }
