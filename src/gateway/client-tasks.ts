/**
 * Tasks that clients run for backends (2025-11-25 basic/utilities/tasks): a client takes all backends of its route for one
 * server, so that the gateway keeps the tasks of one from the others.
 */
import type { Backend } from '../backends/backend.ts'
import type { Refusal } from '../exchanges/running.ts'
import { find } from '../protocol/find.ts'
import { type Message, stringParam } from '../protocol/message.ts'
import { decodeString } from '../protocol/names.ts'
import type { Live } from '../sessions/lifecycle.ts'

/** Tasks of one session that are remembered; the backends of those before them are not told apart. */
const maxClientTasks = 1_000

const creating = new Set(['sampling/createMessage', 'elicitation/create'])
const concerning = new Set(['tasks/get', 'tasks/result', 'tasks/cancel'])

export class ClientTasks {
  readonly #owners = new WeakMap<Live, Map<string, Backend>>()

  /** The client's answer to a request of a backend: it may be a CreateTaskResult. */
  learn(answer: Message, method: string, live: Live, backend: Backend): void {
    const id = creating.has(method) ? createdId(answer) : undefined
    if (id === undefined) return
    const owners = this.#owners.get(live) ?? new Map<string, Backend>()
    this.#owners.set(live, owners.set(id, backend))
    if (owners.size > maxClientTasks) owners.delete(owners.keys().next().value!)
  }

  /** Whose the task is; undefined when that is not known. */
  owner(taskId: string, live: Live): Backend | undefined {
    return this.#owners.get(live)?.get(taskId)
  }

  /** Why a request of a backend is not put to the client; undefined when it may be. */
  refusal(request: Message, live: Live, backend: Backend): Refusal | undefined {
    if (request.method === 'tasks/list') return listsOthers
    if (!concerning.has(request.method!)) return undefined
    const owner = this.owner(stringParam(request, 'taskId') ?? '', live)
    return owner === undefined || owner === backend ? undefined : ofAnother
  }
}

const listsOthers: Refusal = { code: -32601, text: 'the client has tasks of several servers: they are not listed' }
const ofAnother: Refusal = { code: -32602, text: 'there is no such task' }

function createdId({ source, scanned: { top } }: Message): string | undefined {
  const i = top.keys.indexOf('result')
  const span = i === -1 ? undefined : find(source, top.spans[2 * i]!, ['task', 'taskId'])
  return span === undefined || source[span.start] !== 0x22 ? undefined : decodeString(source, span.start, span.end)
}
