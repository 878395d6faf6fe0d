import type { LogLevel, Meta, Root } from '../../handlers/content.ts'
import type { AskOptions, Context, Log } from '../../handlers/context.ts'
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
  return new CallContext(conversation, running, name)
}

/** Its members are functions of their own, made when they are asked for: most handlers take few. */
class CallContext implements Context {
  readonly #conversation: Conversation
  readonly #running: Running
  readonly #name: string

  constructor(conversation: Conversation, running: Running, name: string) {
    this.#conversation = conversation
    this.#running = running
    this.#name = name
  }

  get progress(): Context['progress'] {
    return (progress, total, message) => this.#running.progress(progress, total, message)
  }

  get log(): Log {
    return logOf(this.#conversation, this.#running, this.#name)
  }

  get elicit(): Context['elicit'] {
    return (message, schema, options) =>
      quiet(elicit(this.#conversation, this.#running, this.#name, message, schema, options)) as Promise<never>
  }

  get elicitText(): Context['elicitText'] {
    return (message, field, options) =>
      quiet(elicitText(this.#conversation, this.#running, this.#name, message, field, options))
  }

  get elicitChoice(): Context['elicitChoice'] {
    return (message, choices, options) =>
      quiet(elicitChoice(this.#conversation, this.#running, this.#name, message, choices, options)) as Promise<never>
  }

  get elicitUrl(): Context['elicitUrl'] {
    return (message, url, options) => quiet(elicitUrl(this.#conversation, this.#running, message, url, options))
  }

  get sample(): Context['sample'] {
    return (params, options) => quiet(sample(this.#conversation, this.#running, params, options))
  }

  get roots(): Context['roots'] {
    return options => quiet(roots(this.#conversation, this.#running, options))
  }

  get onRootsChanged(): Context['onRootsChanged'] {
    return listener => this.#running.onRootsChanged(listener)
  }

  get signal(): AbortSignal {
    return this.#running.signal
  }

  get session(): Context['session'] {
    return this.#conversation.session
  }

  get principal(): Context['principal'] {
    return this.#running.call.principal
  }

  get client(): Context['client'] {
    return this.#running.caller.client
  }

  get meta(): Meta {
    return metaOf(this.#running.request)
  }

  get notifyResourceUpdated(): Context['notifyResourceUpdated'] {
    return uri => this.#conversation.updated(uri)
  }

  get broadcast(): Context['broadcast'] {
    return (method, params) => this.#conversation.broadcast(makeNotification(method, params))
  }

  get becomeTask(): Context['becomeTask'] {
    return () => this.#running.follower?.becomeTask() ?? false
  }

  get closeStream(): Context['closeStream'] {
    return () => this.#running.call.closeStream?.()
  }
}

const ignore = (): void => {}

/** A handler that forgets to wait must not end the process when what it asked for fails. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(ignore)
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
async function roots(conversation: Conversation, running: Running, { key }: AskOptions = {}): Promise<readonly Root[]> {
  if (objectOf(running.caller.client.capabilities.roots) === undefined) return []
  const answer = objectOf(await ask(conversation, running, { method: 'roots/list', key }))
  return Array.isArray(answer?.roots) ? (answer.roots as Root[]) : []
}
