/** Which resources of a backend a session subscribed to. */
import type { Backend } from '../backends/backend.ts'
import type { SessionRecord } from './session.ts'

type Subscriber = Pick<SessionRecord, 'subscriptions' | 'places'>

export const isSubscribed = ({ subscriptions, places }: Subscriber, uri: string, backend: Backend): boolean =>
  subscriptions.includes(uri) && isAt(places, uri, backend)

export const subscriptionsAt = ({ subscriptions, places }: Subscriber, backend: Backend): readonly string[] =>
  places === undefined ? subscriptions : subscriptions.filter(uri => isAt(places, uri, backend))

/** Without a place there is one backend, which has them all. */
const isAt = (places: SessionRecord['places'], uri: string, { name }: Backend): boolean =>
  places === undefined || !Object.hasOwn(places, uri) || places[uri] === name
