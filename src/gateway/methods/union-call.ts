/** A request on a route where several backends are one server, and what its method needs to know for it. */
import type { Backend } from '../../backends/backend.ts'
import type { Running } from '../../exchanges/running.ts'
import type { MessageSource } from '../../exchanges/source.ts'
import type { Message } from '../../protocol/message.ts'
import type { Live } from '../../sessions/lifecycle.ts'
import type { Context } from '../context.ts'
import type { Note } from '../request.ts'
import type { Union } from '../union.ts'

export interface UnionCall {
  readonly request: Message
  readonly live: Live
  readonly union: Union
  readonly context: Context
  readonly note: Note
  /** Sends the request, or what became of it, to one of the backends. */
  readonly run: (backend: Backend, request: Message) => Running
}

export type UnionMethod = (call: UnionCall) => MessageSource
