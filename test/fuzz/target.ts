/** Properties that are tried on random inputs, made by the shape of what they are inputs of. */
import type fc from 'fast-check'

type Property = fc.IRawProperty<any, boolean>

export interface Target {
  /** By name; each tells what holds. They take turns. */
  readonly properties: Readonly<Record<string, Property>>
  /** What they need, made before the first and ended after the last. */
  readonly open?: () => Promise<() => Promise<void>>
}
