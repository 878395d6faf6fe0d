/**
 * What a message of an exchange becomes for the modern request that it answers: of notifications those that have to do with
 * the request (2026-07-28 basic/transports/streamable-http, "Receiving Messages"), of results and errors what this revision
 * knows (basic/index, "Responses", "Error Codes"; server/utilities/caching).
 */
import { wrongInputs } from '../bridge/wished-inputs.ts'
import { editedParam, splice } from '../protocol/edit.ts'
import { settled } from '../protocol/envelope.ts'
import { eachMember, find } from '../protocol/find.ts'
import { makeError } from '../protocol/make.ts'
import { type Message, stringParam, textMeta, textOf } from '../protocol/message.ts'
import { stringMeta } from '../protocol/meta.ts'
import { cacheable, capabilitiesKey, interactive, levelKey, ofTasks, serverKey } from '../protocol/modern.ts'
import { resultStart, without } from '../protocol/remove.ts'
import { type Hint, hintOf, membersOf } from './hints.ts'
import { passes } from './levels.ts'
import { declaresTasks, withHandles, withoutTaskSupport } from './modern-tasks.ts'

export interface Answering {
  /** JSON text of who answers. */
  readonly server: string
  /** How long results of theirs may be kept of which nothing is said. */
  hint(): Hint
  /** What a task is called that a result is, or is about. `isNew`: the result is what began it. */
  task(id: string, isNew: boolean): string
}

/** Undefined: it is not for this request. */
export function forModern(message: Message, request: Message, answering: Answering): Message | undefined {
  if (message.kind === 'notification') return isRelated(message, request) ? message : undefined
  if (message.kind === 'request') return undefined
  const { source, scanned } = message
  const error = textOf(source, scanned.top, 'error')
  return error === undefined ? resultFor(message, request, answering) : errorFor(message, error)
}

/** Notifications that have a stream of their own in this revision, or none at all. */
const elsewhere = new Set([
  'notifications/cancelled',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/roots/list_changed',
  'notifications/elicitation/complete',
  'notifications/tasks',
  'notifications/tasks/status'
])

function isRelated(notice: Message, request: Message): boolean {
  switch (notice.method) {
    case 'notifications/progress':
      return editedParam(notice, 'progressToken') === textMeta(request, 'progressToken')
    case 'notifications/message': {
      const threshold = stringMeta(request, levelKey)
      return threshold !== undefined && passes(stringParam(notice, 'level') ?? '', threshold)
    }
    default:
      return !elsewhere.has(notice.method!)
  }
}

/** Of the codes of the reserved range the one that is about the client: the others are about what the gateway sent. */
const missingCapability = -32021

function errorFor(message: Message, text: string): Message {
  const error = JSON.parse(text) as { code?: unknown; message?: unknown; data?: unknown } | null
  const code = Number(error?.code)
  const reserved = code <= -32020 && code >= -32099 && code !== missingCapability
  if (code !== resourceNotFound && !reserved) return message
  const given = typeof error?.message === 'string' ? error.message : 'the backend answered with an error'
  return makeError(message.id, code === resourceNotFound ? -32602 : -32603, given, error?.data)
}

/** Of the legacy era: -32602 took its place. */
const resourceNotFound = -32002

interface Found {
  readonly start: number
  readonly end: number
}

function resultFor(message: Message, request: Message, answering: Answering): Message {
  const { server } = answering
  const { source, scanned } = message
  const { keys, spans } = scanned.top
  const start = spans[2 * keys.indexOf('result')]!
  if (source[start] !== 0x7b) return invalid(message, 'a result that is no object')
  const found = new Map<string, Found>()
  let size = 0
  eachMember(source, start, (key, from, end) => {
    size++
    if (watched.has(key)) found.set(key, { start: from, end })
  })
  const text = (key: string): string | undefined => {
    const span = found.get(key)
    return span && source.toString('utf8', span.start, span.end)
  }
  const type = text('resultType') ?? '"complete"'
  if (!isKnown(type, request)) return invalid(message, `a result of the type ${type.slice(0, 80)}`)
  if (type === '"input_required"') {
    const wrong = wrongInputs(message, textMeta(request, capabilitiesKey)!)
    if (wrong !== undefined) return wrong
    if (found.has('ttlMs') || found.has('cacheScope')) return resultFor(withoutHints(message), request, answering)
  }
  let added = found.has('resultType') ? '' : `"resultType":${type},`
  let result =
    type === '"task"' || ofTasks.has(request.method!)
      ? withHandles(message, start, id => answering.task(id, !ofTasks.has(request.method!)))
      : request.method === 'tools/list'
        ? withoutTaskSupport(message, start)
        : message
  const set = (key: string, value: string): void => {
    const span = found.get(key)
    if (span === undefined) added += `"${key}":${value},`
    else result = splice(result, { ...span, text: value })
  }
  if (type === '"complete"' && cacheable.has(request.method!)) {
    const { ttlMs, cacheScope } = membersOf(hintOf(text('ttlMs'), text('cacheScope')) ?? answering.hint())
    if (!isDuration(text('ttlMs'))) set('ttlMs', String(ttlMs))
    if (!scopes.has(text('cacheScope'))) set('cacheScope', `"${cacheScope}"`)
  }
  const meta = found.get('_meta')
  if (meta === undefined || source[meta.start] !== 0x7b) {
    set('_meta', `{"${serverKey}":${server}}`)
  } else if (find(source, meta.start, [serverKey]) === undefined) {
    const isEmpty = /^\{\s*\}$/.test(source.toString('latin1', meta.start, Math.min(meta.end, meta.start + 64)))
    const at = meta.start + 1
    result = splice(result, { start: at, end: at, text: `"${serverKey}":${server}${isEmpty ? '' : ','}` })
  }
  if (added === '') return result
  const at = start + 1
  return splice(result, { start: at, end: at, text: size === 0 ? added.slice(0, -1) : added })
}

const watched = new Set(['resultType', 'ttlMs', 'cacheScope', '_meta'])
const scopes = new Set<string | undefined>(['"public"', '"private"'])

const isDuration = (json: string | undefined): boolean => json !== undefined && /^\d{1,15}$/.test(json)

/** What asks is not to be kept, whatever the backend says. */
const withoutHints = (response: Message): Message =>
  ['ttlMs', 'cacheScope'].reduce((left, name) => settled(without(left, resultStart(left)!, [name])), response)

/** Types of extensions pass when the request declared one. */
function isKnown(type: string, request: Message): boolean {
  if (type === '"complete"') return true
  if (type === '"input_required"') return interactive.has(request.method!)
  if (type === '"task"') return declaresTasks(request)
  const capabilities = JSON.parse(textMeta(request, capabilitiesKey)!) as { extensions?: unknown }
  const { extensions } = capabilities
  return typeof extensions === 'object' && extensions !== null && Object.keys(extensions).length > 0
}

const invalid = ({ id }: Message, what: string): Message =>
  makeError(id, -32603, `the backend answered with ${what}`, { reason: 'backend_invalid' })
