/** What tells the messages of one request apart. */
import { type Message, sameId, textParam } from '../../protocol/message.ts'

export interface Origin {
  /** The id towards the upstream as JSON text: a number of the link's own. */
  readonly id: string
  /** JSON text of the request's progress token. */
  readonly token?: string | undefined
}

/**
 * Whether a response is the one to this request: also with the id as a string, for servers that answer 1 with "1". `alone`:
 * it can be meant for no other, so that an error needs no id.
 */
export const answers = (response: Message, { id }: Origin, alone: boolean): boolean =>
  response.id === undefined ? alone : response.id === id || response.id === `"${id}"`

export function isProgressOf(progress: Message, { token: own }: Origin): boolean {
  const token = textParam(progress, 'progressToken')
  return token !== undefined && own !== undefined && sameId(token, own)
}

/** Where the stream of a request stands after an event, as other instances read it; undefined when it cannot be resumed. */
export const placeOf = (origin: Origin, lastEventId: string | undefined): string | undefined =>
  lastEventId === undefined ? undefined : JSON.stringify({ ...origin, lastEventId })

/** Undefined for what {@link placeOf} did not write. */
export function readPlace(place: string): (Origin & { readonly lastEventId: string }) | undefined {
  try {
    const value = JSON.parse(place)
    return typeof value.id === 'string' && typeof value.lastEventId === 'string' ? value : undefined
  } catch {
    return undefined
  }
}
