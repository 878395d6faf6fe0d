import { GatewayError } from '../../errors.ts'
import { ClientError, ProtocolError } from '../../handlers/errors.ts'
import { makeNotification } from '../../protocol/make.ts'
import type { Message } from '../../protocol/message.ts'
import { value } from '../../protocol/write.ts'
import type { Place } from '../../streams/stream-log.ts'
import type { Call, Exchange, Link, OpenOptions, Server, Upstream } from '../backend.ts'
import { objectOf } from './ask.ts'
import { Caller } from './caller.ts'
import { complete } from './complete.ts'
import { Conversation } from './conversation.ts'
import { isLevel } from './levels.ts'
import { cancelModernTask, getModernTask, listenToTasks, updateModernTask } from './modern-task-methods.ts'
import type { Params } from './params.ts'
import { getPrompt, listPrompts } from './prompts.ts'
import { listResources, listTemplates, readResource, subscribe, unsubscribe } from './resources.ts'
import { Running } from './running.ts'
import type { Shared } from './shared.ts'
import { cancelTask, getTask, listTasks, Tasks, taskResult } from './tasks.ts'
import { callTool, listTools } from './tools.ts'
import { upstreamOf } from './upstream.ts'

type Method = (conversation: Conversation, params: Params, running: Running) => unknown

const setLevel: Method = (conversation, { level }) => {
  if (!isLevel(level)) throw new ProtocolError(-32602, '"params.level" must be a level of RFC 5424, such as "warning".')
  conversation.setLevel(level)
  return {}
}

/** Method to the capability it belongs to (undefined: everybody has it) and what it does. */
const methods: Readonly<Record<string, readonly [string | undefined, Method]>> = {
  ping: [undefined, () => ({})],
  'tools/list': ['tools', listTools],
  'tools/call': ['tools', callTool],
  'resources/list': ['resources', listResources],
  'resources/templates/list': ['resources', listTemplates],
  'resources/read': ['resources', readResource],
  'resources/subscribe': ['resources', subscribe],
  'resources/unsubscribe': ['resources', unsubscribe],
  'prompts/list': ['prompts', listPrompts],
  'prompts/get': ['prompts', getPrompt],
  'completion/complete': ['completions', complete],
  'logging/setLevel': ['logging', setLevel],
  'tasks/get': ['tasks', getTask],
  'tasks/result': ['tasks', taskResult],
  'tasks/list': ['tasks.list', listTasks],
  'tasks/cancel': ['tasks', cancelTask]
}

/** Those of modern requests. */
const modernMethods: typeof methods = {
  'tasks/get': ['extensions', getModernTask],
  'tasks/update': ['extensions', updateModernTask],
  'tasks/cancel': ['extensions', cancelModernTask],
  'subscriptions/listen': ['extensions', listenToTasks]
}

/** One client's conversation with the handlers of a backend: the server side of a legacy session, in process. */
export class ModuleLink implements Link {
  readonly era = 'legacy'
  readonly knowsModern = true
  readonly server: Server
  readonly state = undefined
  /** For who listens to tasks. */
  readonly upstream: Upstream
  readonly #shared: Shared
  readonly #conversation: Conversation
  readonly #running = new Set<Running>()
  readonly #closed: (link: ModuleLink) => void
  #open = true

  constructor(shared: Shared, server: Server, options: OpenOptions, closed: (link: ModuleLink) => void) {
    this.#shared = shared
    this.server = server
    this.#closed = closed
    this.upstream = upstreamOf(this, options.principal, options.client)
    this.#conversation = new Conversation(shared, options.client, message => {
      if (this.#open) options.receive(message)
    })
    if ('tasks' in server.capabilities) {
      this.#conversation.tasks = new Tasks(shared, this.#conversation, this.#running, options.principal)
    }
  }

  exchange(request: Message, call: Call): Exchange {
    const caller = new Caller(request, this.#conversation.client)
    const running = new Running(this.#shared, request, call, caller, over => this.#running.delete(over))
    if (!this.#open) {
      running.queue.fail(this.#over(request.id))
      return running.queue
    }
    this.#running.add(running)
    void running.run(() => this.#answer(request, running))
    return running.queue
  }

  /** Never: what runs in a process is not found from another one (`state` is undefined). */
  resume(_clientId: string, _place: Place, _call: Call): Exchange {
    throw new TypeError('in-process links cannot be resumed')
  }

  async send(message: Message): Promise<void> {
    if (!this.#open) throw this.#over()
    if (message.method === 'notifications/roots/list_changed') {
      for (const running of this.#running) running.rootsChanged()
    }
    if (message.kind !== 'response' || message.id === undefined) return
    const asked = this.#conversation.asking.get(message.id)
    if (asked === undefined) return
    const { result, error } = value(message) as { result?: unknown; error?: Partial<ClientError> }
    if (error === undefined) asked.resolve(result)
    else asked.reject(new ClientError(Number(error.code), String(error.message), error.data))
  }

  listen(_on: boolean): void {}

  async close(): Promise<void> {
    if (!this.#open) return
    this.#open = false
    for (const running of this.#running) running.queue.cancel('The session is over.')
    this.#conversation.tasks?.close()
    this.#closed(this)
  }

  /** A notification for every client. */
  tell(message: Message): void {
    this.#conversation.tell(message)
  }

  /** A list changed. Told only of what this client was told exists. */
  changed(kind: string): void {
    if (kind in this.server.capabilities)
      this.#conversation.tell(makeNotification(`notifications/${kind}/list_changed`))
  }

  /** A resource changed: told when it, or what it is a part of, was subscribed to. */
  updated(uri: string): void {
    for (const subscribed of this.#conversation.subscriptions) {
      if (uri !== subscribed && !uri.startsWith(subscribed.endsWith('/') ? subscribed : `${subscribed}/`)) continue
      this.#conversation.tell(makeNotification('notifications/resources/updated', { uri }))
      return
    }
  }

  #has(capability: string): boolean {
    const { capabilities } = this.server
    if (capability === 'tasks.list') return objectOf(capabilities.tasks)?.list !== undefined
    return capability in capabilities
  }

  #over(id?: string): GatewayError {
    return new GatewayError('backend_unavailable', 'The conversation is over.', { id, backend: this.#shared.name })
  }

  #method(name: string, { caller }: Running): (typeof methods)[string] | undefined {
    if (Object.hasOwn(modernMethods, name) && caller.client.era === 'modern') return modernMethods[name]
    return Object.hasOwn(methods, name) ? methods[name] : undefined
  }

  #answer(request: Message, running: Running): unknown {
    const [capability, method] = this.#method(request.method!, running) ?? []
    if (method === undefined || (capability !== undefined && !this.#has(capability))) {
      throw new ProtocolError(-32601, `Method not found: ${request.method}`)
    }
    const { params } = value(request) as { params?: Params }
    running.caller.bring(params?.inputResponses)
    return method(this.#conversation, params ?? {}, running)
  }
}
