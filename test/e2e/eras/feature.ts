/** A row of the matrix: what a client does with a server, and where no client can. */
import assert from 'node:assert/strict'
import type { World } from '../../fixtures/eras/world.ts'
import type { Answers, Peer } from '../clients/peer.ts'
import type { BackendName, ClientName } from './names.ts'
import type { Reason } from './reasons.ts'

export interface Scene {
  readonly client: ClientName
  readonly backend: BackendName
  readonly peer: Peer
  /** What the client says when it is asked; each feature sets what it needs. */
  readonly answers: Answers
  readonly world: World
  /** How long to wait for what should come, milliseconds. */
  readonly patience: number
}

export interface Feature {
  readonly name: string
  /** Rejects when it does not work. */
  run(scene: Scene): Promise<void>
  readonly unless?: readonly Unless[]
}

/** Cells where it cannot work; left out: all of them. It is run there too, and has to reject. */
export interface Unless {
  readonly clients?: readonly ClientName[]
  readonly backends?: readonly BackendName[]
  readonly why: Reason
}

export interface Area {
  readonly name: string
  readonly features: readonly Feature[]
}

export const textOf = (result: unknown): string => (result as { content: { text: string }[] }).content[0]!.text

export const jsonOf = (result: unknown): any => JSON.parse(textOf(result))

/** `actual` has at least what `expected` has. */
export const has = (actual: unknown, expected: unknown): void => assert.partialDeepStrictEqual(actual, expected)

export const errorOf = (promise: Promise<unknown>): Promise<{ code?: unknown; data?: any }> =>
  promise.then(
    () => assert.fail('it resolved, but had to reject'),
    error => error
  )

/** Requests and notifications that came since `from`. */
export const heardSince = ({ peer }: Scene, from: number, method: string) =>
  peer.heard.all.slice(from).filter(message => message.method === method)

/** The next message with this method, since `from`. */
export const hear = ({ peer, patience }: Scene, from: number, method: string, params: Record<string, unknown> = {}) =>
  peer.heard.first(
    message =>
      message.method === method && Object.entries(params).every(([name, value]) => message.params?.[name] === value),
    from,
    patience
  )
