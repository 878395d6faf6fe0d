/**
 * The one table of errors: a stable code, the JSON-RPC code and the HTTP status that goes with it where the head of the
 * response is not yet written. `docs/errors.md` is kept equal to it by a test. Own JSON-RPC codes are the standard ones:
 * -32000 to -32099 belong to implementations of old and to the specification.
 */

const table = {
  parse: { rpc: -32700, status: 400, what: 'The body is not JSON, or not UTF-8.' },
  invalid: {
    rpc: -32600,
    status: 400,
    what: 'The body is JSON but no JSON-RPC message, or one that is not allowed here.'
  },
  params: { rpc: -32602, status: 200, what: 'A member of `params` is missing or has the wrong type.' },
  method: { rpc: -32601, status: 200, what: 'The method is unknown, or its capability was not advertised.' },
  header: { rpc: -32600, status: 400, what: 'A header is repeated, malformed or missing.' },
  version: { rpc: -32600, status: 400, what: '`MCP-Protocol-Version` names no version that this route serves.' },
  mismatch: {
    rpc: -32020,
    status: 400,
    what: 'A header that mirrors the body is missing, malformed, or says something else.'
  },
  unsupported_version: {
    rpc: -32022,
    status: 400,
    what: 'The revision that a request names is none that this route serves (`data.supported`).'
  },
  meta: { rpc: -32602, status: 400, what: 'A member of `params._meta` that every modern request needs is missing.' },
  state: {
    rpc: -32602,
    status: 200,
    what: '`params.requestState` is not good for this request: changed, used, expired, or of another one.'
  },
  capability: {
    rpc: -32021,
    status: 400,
    what: 'The request needs a capability that it does not declare (`data.requiredCapabilities`).'
  },
  unknown_method: { rpc: -32601, status: 404, what: 'Modern requests have no such method here.' },
  host: { rpc: -32600, status: 403, what: 'The `Host` header names a host that is not ours (DNS rebinding).' },
  origin: { rpc: -32600, status: 403, what: 'The `Origin` header names a page that may not use this gateway.' },
  path: { rpc: -32600, status: 404, what: 'No route has this path.' },
  session_required: { rpc: -32600, status: 400, what: 'The request needs an `Mcp-Session-Id`.' },
  session: {
    rpc: -32600,
    status: 404,
    what: 'The session is unknown, expired, or of another principal: initialize again.'
  },
  http_method: { rpc: -32600, status: 405, what: 'The HTTP method has no meaning here; see `Allow`.' },
  not_acceptable: { rpc: -32600, status: 406, what: '`Accept` admits neither JSON nor an event stream.' },
  too_large: { rpc: -32600, status: 413, what: 'The body is larger than `server.limits.body`.' },
  media_type: {
    rpc: -32600,
    status: 415,
    what: '`Content-Type` is not `application/json` in UTF-8, or the body is encoded.'
  },
  cursor: { rpc: -32600, status: 400, what: '`Last-Event-ID` was never given to this session.' },
  not_asked: { rpc: -32600, status: 400, what: 'The response answers no request of this session.' },
  full: {
    rpc: -32603,
    status: 503,
    what: "As many sessions, or subscriptions of modern clients, as `sessions.max` (or the caller's share of them) are open."
  },
  overloaded: { rpc: -32603, status: 503, what: 'Too much is in flight here.' },
  store: { rpc: -32603, status: 503, what: 'The session store does not answer.' },
  shutdown: { rpc: -32603, status: 503, what: 'The gateway is shutting down.' },
  backend_unavailable: {
    rpc: -32603,
    status: 200,
    what: 'The backend cannot be reached, did not start, or failed its handshake.'
  },
  backend_broke: {
    rpc: -32603,
    status: 200,
    what: 'The backend broke off, died, or left the config, before the response.'
  },
  backend_session_lost: {
    rpc: -32603,
    status: 200,
    what: 'The backend lost its session and could not be initialized again.'
  },
  backend_invalid: { rpc: -32603, status: 200, what: 'The backend answered something that is no valid message.' },
  backend_too_large: {
    rpc: -32603,
    status: 200,
    what: 'A message of the backend is larger than `server.limits.upstream`.'
  },
  backend_status: { rpc: -32603, status: 200, what: 'The backend answered with an HTTP status that is no answer.' },
  timeout: { rpc: -32603, status: 200, what: 'The backend was silent for `timeout`, or took longer than `maxTime`.' },
  input_timeout: {
    rpc: -32603,
    status: 200,
    what: 'The client did not answer a request of the backend within `input.timeout`.'
  },
  instance_gone: { rpc: -32603, status: 200, what: 'The instance that ran the call is gone.' },
  response_gone: { rpc: -32603, status: 200, what: 'The response was kept for `streams.retain` and is gone.' },
  internal: { rpc: -32603, status: 500, what: 'A fault of the gateway; the log has the cause.' }
} as const

export type ErrorCode = keyof typeof table

/** Read by the docs test and by the labels of metrics; others throw a GatewayError. */
export const errorTable: Readonly<
  Record<ErrorCode, { readonly rpc: number; readonly status: number; readonly what: string }>
> = table

export interface ErrorDetails {
  /** The JSON-RPC id as text, when it could be read. `null` stands for an id that is no id and is left out. */
  readonly id?: string | null | undefined
  readonly backend?: string | undefined
  readonly cause?: unknown
  /** Further members of `error.data`. */
  readonly data?: Readonly<Record<string, unknown>> | undefined
  /** HTTP headers that go with it (`Allow`, `Retry-After`). */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Another JSON-RPC code than the table's. */
  readonly rpcCode?: number | undefined
}

/** Whatever goes wrong and has an answer. The message is for the client; the cause stays in the log. */
export class GatewayError extends Error {
  readonly code: ErrorCode
  readonly id: string | undefined
  readonly backend: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly #details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'GatewayError'
    this.code = code
    this.id = details.id ?? undefined
    this.backend = details.backend
    this.headers = details.headers ?? {}
    this.#details = details
  }

  get rpcCode(): number {
    return this.#details.rpcCode ?? table[this.code].rpc
  }

  get status(): number {
    return table[this.code].status
  }

  /** `error.data`: the reason as a stable code, the backend, and whatever else was said. */
  get data(): Record<string, unknown> {
    return {
      reason: this.code,
      ...(this.backend === undefined ? {} : { backend: this.backend }),
      ...this.#details.data
    }
  }

  /** The same error, answering another request. */
  withId(id: string | undefined): GatewayError {
    return new GatewayError(this.code, this.message, { ...this.#details, id })
  }
}

/** An error of ours as it is; anything else is a fault of the gateway. */
export const toGatewayError = (error: unknown): GatewayError =>
  error instanceof GatewayError ? error : new GatewayError('internal', 'internal error', { cause: error })
