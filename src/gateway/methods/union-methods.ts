/** What becomes of each request where several backends are one server. */
import { GatewayError } from '../../errors.ts'
import { single } from '../../exchanges/source.ts'
import { errorMessage, makeResult } from '../../protocol/make.ts'
import { kinds } from '../list-items.ts'
import { byName } from './by-name.ts'
import { readResource, subscribeAt, unsubscribeAt } from './by-uri.ts'
import { complete } from './complete.ts'
import { extension } from './extension.ts'
import { listOf } from './lists.ts'
import { setLevelOfAll } from './set-level-of-all.ts'
import { listTasks, ofTask } from './tasks.ts'
import type { UnionMethod } from './union-call.ts'

const methods: Readonly<Record<string, UnionMethod>> = {
  ping: ({ request }) => single(makeResult(request.id!, {})),
  initialize: ({ request }) => single(errorMessage(new GatewayError('invalid', 'initialize stands alone'), request.id)),
  'tools/list': listOf(kinds.tools),
  'tools/call': byName(kinds.tools),
  'prompts/list': listOf(kinds.prompts),
  'prompts/get': byName(kinds.prompts),
  'logging/setLevel': setLevelOfAll,
  'resources/read': readResource,
  'resources/subscribe': subscribeAt,
  'resources/unsubscribe': unsubscribeAt,
  'completion/complete': complete,
  'resources/list': listOf(kinds.resources),
  'resources/templates/list': listOf(kinds.templates),
  'tasks/get': ofTask,
  'tasks/result': ofTask,
  'tasks/cancel': ofTask,
  'tasks/list': listTasks
}

export const unionMethod = (name: string): UnionMethod => (Object.hasOwn(methods, name) ? methods[name]! : extension)
