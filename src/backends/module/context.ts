import { randomUUID } from 'node:crypto'
import type { LogLevel, Meta, Root } from '../../handlers/content.ts'
import type { Context, ElicitResult, Log, SampleOptions, SampleResult } from '../../handlers/context.ts'
import { answerProblems, formOf } from '../../handlers/form.ts'
import type { Schema } from '../../handlers/schema.ts'
import { makeNotification, makeRequest } from '../../protocol/make.ts'
import { type Message, textOf } from '../../protocol/message.ts'
import { hasElicitation, hasElicitationMode, hasSamplingArrays } from '../../protocol/version.ts'
import type { Client } from '../../sessions/session.ts'
import { facts } from '../../telemetry/events.ts'
import type { Conversation } from './conversation.ts'
import { levels } from './levels.ts'
import type { Running } from './running.ts'

/** What the handler of one call gets. `name`: of the tool, prompt or resource, which names its logger. */
export function contextOf(conversation: Conversation, running: Running, name: string): Context {
  return {
    progress: (progress, total, message) => running.progress(progress, total, message),
    log: logOf(conversation, running, name),
    elicit: (message, schema) => quiet(elicit(conversation, running, name, message, schema)) as never,
    elicitUrl: (message, url) => quiet(elicitUrl(conversation, running, message, url)),
    sample: options => quiet(sample(conversation, running, options)),
    roots: () => quiet(roots(conversation, running)),
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
    closeStream: () => running.call.closeStream?.()
  }
}

/** A handler that forgets to wait must not end the process when what it asked for fails. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

function logOf(conversation: Conversation, running: Running, logger: string): Log {
  const log = (level: LogLevel, data: unknown): Promise<void> => {
    if (!conversation.logs(level)) return Promise.resolve()
    let message: Message
    try {
      message = makeNotification('notifications/message', { level, logger, data: data ?? null })
    } catch {
      message = makeNotification('notifications/message', { level, logger, data: String(data) })
    }
    return running.say(message)
  }
  for (const level of levels) (log as unknown as Record<string, unknown>)[level] = (data: unknown) => log(level, data)
  return log as Log
}

const metaOf = (request: Message): Meta => {
  const text = textOf(request.source, request.scanned.params, '_meta')
  return text === undefined ? {} : (JSON.parse(text) as Meta)
}

const ask = (conversation: Conversation, running: Running, method: string, params?: unknown): Promise<unknown> => {
  const id = conversation.nextId()
  return running.ask(id, makeRequest(id, method, params))
}

const objectOf = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined

const cannotElicit = 'Client does not support elicitation. Cannot request user input.'

/** `{}` means forms only (client/elicitation, "Capabilities"). */
function canElicit({ version, capabilities }: Conversation['client'], mode: 'form' | 'url'): boolean {
  const elicitation = objectOf(capabilities.elicitation)
  if (elicitation === undefined || !hasElicitation(version)) return false
  if (mode === 'url') return hasElicitationMode(version) && elicitation.url !== undefined
  return elicitation.form !== undefined || elicitation.url === undefined
}

async function elicit(
  conversation: Conversation,
  running: Running,
  name: string,
  message: string,
  schema: Schema
): Promise<ElicitResult<unknown>> {
  const { version } = conversation.client
  if (!canElicit(conversation.client, 'form')) throw new Error(cannotElicit)
  const requestedSchema = formOf(schema, version, field => {
    conversation.warn(name, `its form asks for "${field}", which looks like a secret: forms must not, elicitUrl may`)
  })
  const mode = hasElicitationMode(version) ? { mode: 'form' } : {}
  const answer = objectOf(await ask(conversation, running, 'elicitation/create', { ...mode, message, requestedSchema }))
  if (answer?.action === 'decline' || answer?.action === 'cancel') return { action: answer.action }
  if (answer?.action !== 'accept') throw new Error('The client answered the elicitation with something else.')
  for (const problem of answerProblems(requestedSchema, answer.content)) {
    facts.notice.publish({
      level: 'warn',
      text: `${name}: an answer of the user: ${problem}`,
      backend: conversation.backend
    })
  }
  return { action: 'accept', content: answer.content ?? {} }
}

async function elicitUrl(conversation: Conversation, running: Running, message: string, url: string) {
  if (!canElicit(conversation.client, 'url')) throw new Error(cannotElicit)
  if (!URL.canParse(url)) throw new TypeError(`This is no URL: ${url}`)
  const elicitationId = randomUUID()
  const answer = objectOf(
    await ask(conversation, running, 'elicitation/create', { mode: 'url', message, url, elicitationId })
  )
  const { action } = answer ?? {}
  if (action !== 'accept' && action !== 'decline' && action !== 'cancel') {
    throw new Error('The client answered the elicitation with something else.')
  }
  return {
    action: action as 'accept' | 'decline' | 'cancel',
    done: () => conversation.tell(makeNotification('notifications/elicitation/complete', { elicitationId }))
  }
}

async function sample(conversation: Conversation, running: Running, options: SampleOptions): Promise<SampleResult> {
  const { capabilities, version } = conversation.client
  const sampling = objectOf(capabilities.sampling)
  if (sampling === undefined) throw new Error('Client does not support sampling. Cannot ask its model.')
  if ((options.tools !== undefined || options.toolChoice !== undefined) && sampling.tools === undefined) {
    throw new Error('Client does not support sampling with tools.')
  }
  const params = hasSamplingArrays(version) ? options : { ...options, messages: options.messages.map(singleBlock) }
  return (await ask(conversation, running, 'sampling/createMessage', params)) as SampleResult
}

/** Before 2025-11-25 a message holds one block. */
const singleBlock = (message: SampleOptions['messages'][number]) => {
  if (!Array.isArray(message.content)) return message
  if (message.content.length !== 1) throw new Error('The client takes one block in a message.')
  return { ...message, content: message.content[0] }
}

async function roots(conversation: Conversation, running: Running): Promise<readonly Root[]> {
  if (objectOf(conversation.client.capabilities.roots) === undefined) return []
  const answer = objectOf(await ask(conversation, running, 'roots/list'))
  return Array.isArray(answer?.roots) ? (answer.roots as Root[]) : []
}

export type { Client }
