/** The line of one request, in the shape that pino writes; built by hand, for there is one for every call. */
import type { RequestFact } from './events.ts'

/** Names and methods are chosen by peers. */
const maxName = 200

/** A path without what stands after `?`: some clients put credentials there. */
const path = (route: string): string => {
  const query = route.indexOf('?')
  return query === -1 ? route : route.slice(0, query)
}

/** Texts that were seen, as JSON: routes, methods, names and sessions come again and again. */
const known = new Map<string, string>()
const maxKnown = 5_000

function json(text: string): string {
  let written = known.get(text)
  if (written === undefined) {
    written = JSON.stringify(text.length > maxName ? `${text.slice(0, maxName)}…` : text)
    if (text.length <= maxName && known.size < maxKnown) known.set(text, written)
  }
  return written
}

const member = (name: string, value: string | undefined): string =>
  value === undefined ? '' : `,"${name}":${json(value)}`

export const requestLine = (fact: RequestFact): string =>
  `{"level":"info","time":${Date.now()},"reqId":"${fact.id}"${member('route', path(fact.route))}${member('http', fact.http)},"status":${fact.status}${member('method', fact.method)}${member('name', fact.name)}${member('backend', fact.backend)}${member('session', fact.session)}${member('version', fact.version)}${member('outcome', fact.outcome)}${member('error', fact.error)},"durMs":${Math.round(fact.durationMs * 100) / 100}${member('client', fact.address)},"msg":"request"}\n`
