/** A request that the gateway has a part in, and what it needs to know for it. */
import type { Backend } from '../../backends/backend.ts'
import type { MessageSource } from '../../exchanges/source.ts'
import type { Message } from '../../protocol/message.ts'
import type { Live } from '../../sessions/lifecycle.ts'
import type { Context } from '../context.ts'

export interface MethodCall {
  readonly request: Message
  readonly live: Live
  readonly backend: Backend
  /** Whether the session has several backends, so that it is noted which one it was. */
  readonly placed?: true
  readonly context: Pick<Context, 'links' | 'sessions' | 'turns'>
  /** Sends the request, or what became of it, upstream. */
  readonly run: (request: Message) => MessageSource
}

export type Method = (call: MethodCall) => MessageSource
