/** PORT. Who is calling. Sessions, streams, caches and handles are bound to it, never to the bytes of a token. */

export interface Principal {
  /** Stable over token renewal: issuer and subject, or `anonymous`. */
  readonly key: string
  readonly issuer?: string
  readonly subject?: string
}

export const anonymous: Principal = { key: 'anonymous' }

/** What a caller shows: the value of `Authorization` and the address it comes from. */
export interface Credentials {
  readonly authorization: string | undefined
  readonly address: string
}

export interface Authenticator {
  /** Rejects with a GatewayError that carries status and challenge. */
  authenticate(credentials: Credentials): Promise<Principal> | Principal
}
