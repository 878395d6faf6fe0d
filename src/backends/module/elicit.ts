import { randomUUID } from 'node:crypto'
import type { AskOptions, ClientFacts, ElicitOptions, ElicitResult } from '../../handlers/context.ts'
import { MissingCapabilityError } from '../../handlers/errors.ts'
import { checkAnswer, formOf } from '../../handlers/form.ts'
import type { Schema } from '../../handlers/schema.ts'
import { makeNotification } from '../../protocol/make.ts'
import { hasElicitation, hasElicitationMode } from '../../protocol/version.ts'
import { facts } from '../../telemetry/events.ts'
import { ask, objectOf } from './ask.ts'
import type { Conversation } from './conversation.ts'
import type { Running } from './running.ts'

const cannot = (mode: 'form' | 'url'): MissingCapabilityError =>
  new MissingCapabilityError(
    { elicitation: { [mode]: {} } },
    'Client does not support elicitation. Cannot request user input.'
  )

/** A capability without members means forms only (client/elicitation, "Capabilities"). */
function can({ version, capabilities }: ClientFacts, mode: 'form' | 'url'): boolean {
  const elicitation = objectOf(capabilities.elicitation)
  if (elicitation === undefined || !hasElicitation(version)) return false
  if (mode === 'url') return hasElicitationMode(version) && elicitation.url !== undefined
  return elicitation.form !== undefined || elicitation.url === undefined
}

export async function elicit(
  conversation: Conversation,
  running: Running,
  name: string,
  message: string,
  schema: Schema,
  options: ElicitOptions = {}
): Promise<ElicitResult<unknown>> {
  const { version } = running.caller.client
  if (!can(running.caller.client, 'form')) throw cannot('form')
  const requestedSchema = formOf(schema, version, field => {
    conversation.warn(name, `its form asks for "${field}", which looks like a secret: forms must not, elicitUrl may`)
  })
  const mode = hasElicitationMode(version) ? { mode: 'form' } : {}
  const params = { ...mode, message, requestedSchema }
  const answer = objectOf(await ask(conversation, running, { method: 'elicitation/create', params, key: options.key }))
  const action = actionOf(answer)
  if (action !== 'accept') return { action }
  const checked = await checkAnswer(schema, requestedSchema, answer?.content)
  if (checked.ok) return { action, content: checked.value }
  const text = `The user's answer is unlike the form: ${checked.problems.join('; ')}`
  if (options.strict === true) throw new Error(text)
  facts.notice.publish({ level: 'warn', text: `${name}: ${text}`, backend: conversation.backend })
  return { action, content: answer?.content ?? {} }
}

/** Only the client that was asked is told of the end (client/elicitation, "Completion Notifications"). */
export async function elicitUrl(
  conversation: Conversation,
  running: Running,
  message: string,
  url: string,
  { key }: AskOptions = {}
) {
  if (!can(running.caller.client, 'url')) throw cannot('url')
  if (!URL.canParse(url)) throw new TypeError(`This is no URL: ${url}`)
  const elicitationId = randomUUID()
  const params = { mode: 'url', message, url, elicitationId }
  const action = actionOf(objectOf(await ask(conversation, running, { method: 'elicitation/create', params, key })))
  return {
    action,
    done: () => conversation.tell(makeNotification('notifications/elicitation/complete', { elicitationId }))
  }
}

function actionOf(answer: Readonly<Record<string, unknown>> | undefined): 'accept' | 'decline' | 'cancel' {
  const { action } = answer ?? {}
  if (action === 'accept' || action === 'decline' || action === 'cancel') return action
  throw new Error('The client answered the elicitation with something else.')
}
