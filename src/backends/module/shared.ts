import type { Catalog } from '../../handlers/catalog.ts'
import type { LogLevel } from '../../handlers/content.ts'
import type { HandlerDefinition } from '../../handlers/definition.ts'
import type { Message } from '../../protocol/message.ts'
import type { Marker } from './marker.ts'
import type { ModernTasks } from './modern-tasks.ts'
import type { Stuck } from './stuck.ts'

/** What the links of one backend share. */
export interface Shared {
  readonly name: string
  readonly catalog: Catalog
  /** What is logged before a client sets a level; false: nothing at all. */
  readonly logging: LogLevel | false
  readonly pageSize: number
  /** Of one answer. */
  readonly maxBytes: number
  /** How many tasks each owner has: a principal, or where that is nobody, a session. */
  readonly tasks: Map<unknown, number>
  /** Of modern clients. */
  readonly modernTasks: ModernTasks
  readonly stuck: Stuck
  readonly marker: Marker | undefined
  readonly complete: HandlerDefinition['complete']
  /** Tells the links that subscribed to it. */
  updated(uri: string): void
  /** Tells every link. */
  broadcast(message: Message): void
  /** Tells the operator, once for each problem. */
  warn(what: string, problem: string): void
}
