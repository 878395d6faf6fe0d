/**
 * Cursors of merged lists (server/utilities/pagination): after which item of which backend to go on. They hold no offset and
 * need no memory, so that every instance that runs the same config takes them, and lists may change between two pages.
 */
import type { Kind } from './list-items.ts'

export interface ListCursor {
  readonly backend: string
  /** Name, URI or template of the last item that was given. */
  readonly last: string
  /** Its place among those of its backend: where to go on when it is gone. */
  readonly place: number
}

export const writeCursor = (kind: Kind, generation: string, { backend, last, place }: ListCursor): string =>
  Buffer.from(JSON.stringify([generation, kind.name, backend, last, place])).toString('base64url')

/** Undefined for whatever was not made for this kind of list in this generation. */
export function readCursor(text: string, kind: Kind, generation: string): ListCursor | undefined {
  try {
    const [made, name, backend, last, place, ...rest] = JSON.parse(
      Buffer.from(text, 'base64url').toString()
    ) as unknown[]
    if (made !== generation || name !== kind.name || rest.length > 0) return undefined
    if (typeof backend !== 'string' || typeof last !== 'string') return undefined
    if (typeof place !== 'number' || !Number.isSafeInteger(place) || place < 0) return undefined
    return { backend, last, place }
  } catch {
    return undefined
  }
}
