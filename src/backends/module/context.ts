import type { LogLevel, Meta, Root } from '../../handlers/content.ts'
import type { Context, Log } from '../../handlers/context.ts'
import { makeNotification } from '../../protocol/make.ts'
import { type Message, textOf } from '../../protocol/message.ts'
import { ask, objectOf } from './ask.ts'
import type { Conversation } from './conversation.ts'
import { elicit, elicitUrl } from './elicit.ts'
import { elicitChoice, elicitText } from './elicit-one.ts'
import { levels } from './levels.ts'
import type { Running } from './running.ts'
import { sample } from './sample.ts'

/** What the handler of one call gets. `name`: of the tool, prompt or resource, which names its logger. */
export function contextOf(conversation: Conversation, running: Running, name: string): Context {
  running.handler = name
  return {
    progress: (progress, total, message) => running.progress(progress, total, message),
    get log() {
      return logOf(conversation, running, name)
    },
    elicit: (message, schema, options) =>
      quiet(elicit(conversation, running, name, message, schema, options)) as Promise<never>,
    elicitText: (message, field) => quiet(elicitText(conversation, running, name, message, field)),
    elicitChoice: (message, choices) =>
      quiet(elicitChoice(conversation, running, name, message, choices)) as Promise<never>,
    elicitUrl: (message, url) => quiet(elicitUrl(conversation, running, message, url)),
    sample: options => quiet(sample(conversation, running, options)),
    roots: () => quiet(roots(conversation, running)),
    onRootsChanged: listener => running.onRootsChanged(listener),
    get signal() {
      return running.signal
    },
    session: conversation.session,
    principal: running.call.principal,
    client: conversation.client,
    get meta() {
      return metaOf(running.request)
    },
    notifyResourceUpdated: uri => conversation.updated(uri),
    broadcast: (method, params) => conversation.broadcast(makeNotification(method, params)),
    closeStream: () => running.call.closeStream?.()
  }
}

/** A handler that forgets to wait must not end the process when what it asked for fails. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

function logOf(conversation: Conversation, running: Running, logger: string): Log {
  const log = (level: LogLevel, data: unknown): Promise<void> =>
    conversation.logs(level) ? running.say(logMessage(level, logger, data)) : Promise.resolve()
  const byLevel = levels.map(level => [level, (data: unknown) => log(level, data)])
  return Object.assign(log, Object.fromEntries(byLevel)) as Log
}

/** Data that JSON cannot say is told as text. */
function logMessage(level: LogLevel, logger: string, data: unknown): Message {
  try {
    return makeNotification('notifications/message', { level, logger, data: data ?? null })
  } catch {
    return makeNotification('notifications/message', { level, logger, data: String(data) })
  }
}

const metaOf = (request: Message): Meta => {
  const text = textOf(request.source, request.scanned.params, '_meta')
  return text === undefined ? {} : (JSON.parse(text) as Meta)
}

/** None from a client that does not have them (client/roots). */
async function roots(conversation: Conversation, running: Running): Promise<readonly Root[]> {
  if (objectOf(conversation.client.capabilities.roots) === undefined) return []
  const answer = objectOf(await ask(conversation, running, 'roots/list'))
  return Array.isArray(answer?.roots) ? (answer.roots as Root[]) : []
}
