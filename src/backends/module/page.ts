import { ProtocolError } from '../../handlers/errors.ts'

/**
 * One page of a list (server/utilities/pagination). A cursor holds the list's name and a place in it: that of another list
 * is -32602, as is anything that is no cursor.
 */
export function page(
  list: string,
  entries: Iterable<unknown>,
  cursor: unknown,
  size: number
): { readonly items: unknown[]; readonly nextCursor?: string } {
  const all = [...entries]
  const from = cursor === undefined || cursor === null ? 0 : placeOf(list, cursor)
  const items = all.slice(from, from + size)
  const next = from + size
  return next < all.length ? { items, nextCursor: cursorOf(list, next) } : { items }
}

const cursorOf = (list: string, place: number): string => Buffer.from(`${list}:${place}`).toString('base64url')

function placeOf(list: string, cursor: unknown): number {
  const text = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString() : ''
  const place = Number(text.slice(list.length + 1))
  if (!Number.isSafeInteger(place) || place < 1 || cursorOf(list, place) !== cursor) {
    throw new ProtocolError(-32602, 'The cursor is none of this list.')
  }
  return place
}
