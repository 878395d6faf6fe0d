/**
 * Facts that domain code publishes on `node:diagnostics_channel`; logs, metrics and traces only subscribe. Nothing here
 * carries a secret: session ids are hashes, arguments and results are not in it.
 */
import { type Channel, channel } from 'node:diagnostics_channel'

/** One kind of fact. Publishing costs nothing while nobody subscribes; look at `wanted` before building a fact. */
export class Topic<Fact> {
  readonly #channel: Channel
  constructor(name: string) {
    this.#channel = channel(`causeway:${name}`)
  }
  get wanted(): boolean {
    return this.#channel.hasSubscribers
  }
  publish(fact: Fact): void {
    this.#channel.publish(fact)
  }
  /** Returns what ends the subscription. */
  subscribe(listener: (fact: Fact) => void): () => void {
    const onMessage = (fact: unknown): void => listener(fact as Fact)
    this.#channel.subscribe(onMessage)
    return () => {
      this.#channel.unsubscribe(onMessage)
    }
  }
}

export type Outcome = 'ok' | 'accepted' | 'tool_error' | 'rpc_error' | 'cancelled' | 'rejected'

/** One HTTP request of a client, told when its response is over. Milliseconds. */
export interface RequestFact {
  readonly id: string
  readonly route: string
  readonly http: string
  readonly status: number
  /** Absent when the body was not read. */
  readonly method?: string | undefined
  /** `params.name` of tools/call and prompts/get. */
  readonly name?: string | undefined
  readonly backend?: string | undefined
  /** First 12 characters of the SHA-256 of the session id. */
  readonly session?: string | undefined
  readonly version?: string | undefined
  readonly outcome: Outcome
  /** The JSON-RPC code, or the stable code of our own error. */
  readonly error?: string | undefined
  readonly durationMs: number
  readonly address: string
}

/** One request of the gateway to a backend, told when it ended. */
export interface OperationFact {
  readonly backend: string
  readonly method: string
  readonly name?: string | undefined
  readonly durationMs: number
  /** `error.type` of the OpenTelemetry MCP conventions: a JSON-RPC code, `tool_error`, `timeout`, `cancelled`, or our stable code. */
  readonly error?: string | undefined
}

export interface SessionFact {
  readonly route: string
  readonly session: string
  readonly version: string
  readonly event: 'opened' | 'closed'
  /** Why it closed: `deleted`, `expired`, `removed` (its route left the config), `shutdown`. */
  readonly reason?: string
  readonly durationMs?: number
}

export interface BackendFact {
  readonly backend: string
  readonly up: boolean
  readonly reason?: string
}

/** Something of a peer was dropped, and why (`noise`, `late_response`, `unknown_token`, `not_asked`, `trimmed`, ...). */
export interface DropFact {
  readonly reason: string
  readonly backend?: string
  /** Of the tool, prompt or resource, for `stuck_handler`. */
  readonly name?: string
  readonly count?: number
}

/** A line for the operator. */
export interface NoticeFact {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly text: string
  readonly backend?: string
  readonly error?: unknown
  readonly data?: Readonly<Record<string, unknown>>
}

export const facts = {
  request: new Topic<RequestFact>('request'),
  operation: new Topic<OperationFact>('operation'),
  session: new Topic<SessionFact>('session'),
  backend: new Topic<BackendFact>('backend'),
  drop: new Topic<DropFact>('drop'),
  notice: new Topic<NoticeFact>('notice')
}
