import type { Test } from 'tap'
import { anonymous } from '../../src/auth/principal.ts'
import type { Exchange, Link } from '../../src/backends/backend.ts'
import { createModuleBackend, type ModuleBackend, type ModuleOptions } from '../../src/backends/module/backend.ts'
import { defineHandler, type HandlerDefinition } from '../../src/handlers/define.ts'
import { makeError, makeRequest, makeResult } from '../../src/protocol/make.ts'
import type { Message } from '../../src/protocol/message.ts'
import { bytes } from '../../src/protocol/write.ts'
import { facts, type NoticeFact } from '../../src/telemetry/events.ts'

/** A message as a value. */
export interface Said {
  readonly id?: number | string
  readonly method?: string
  readonly params?: any
  readonly result?: any
  readonly error?: any
}

export interface ClientOptions {
  readonly version?: string
  readonly capabilities?: Readonly<Record<string, unknown>>
  /** What the client answers a request of the server; undefined: nothing. */
  readonly answer?: (request: Said) => Promise<Answer | undefined> | Answer | undefined
}
export type Answer =
  | { readonly result: unknown }
  | { readonly error: { code: number; message: string; data?: unknown } }

/** A client of one link of a module backend. */
export class ModuleClient {
  readonly link: Link
  /** What came outside of calls. */
  readonly received: Said[]
  readonly #answer: ClientOptions['answer']
  readonly #principal: string
  #ids = 0

  constructor(link: Link, received: Said[], answer: ClientOptions['answer'], principal = anonymous.key) {
    this.#principal = principal
    this.link = link
    this.received = received
    this.#answer = answer
  }

  start(method: string, params?: unknown, closeStream?: () => void): Exchange {
    const request = makeRequest(String(++this.#ids), method, params)
    const principal = { key: this.#principal }
    return this.link.exchange(request, { principal, ...(closeStream === undefined ? {} : { closeStream }) })
  }

  /** Every message of an exchange; requests are answered. */
  async all(exchange: Exchange): Promise<Said[]> {
    const said: Said[] = []
    for await (const message of exchange) {
      const one = saidOf(message)
      said.push(one)
      if (message.kind === 'request') void this.#respond(one)
    }
    return said
  }

  /** The response to a request. */
  async ask(method: string, params?: unknown): Promise<Said> {
    return (await this.all(this.start(method, params))).at(-1) ?? {}
  }

  /** Every message of a tool call. */
  tool(name: string, args?: unknown, meta?: unknown): Promise<Said[]> {
    return this.all(this.start('tools/call', { name, arguments: args, _meta: meta }))
  }

  /** The result of a tool call. */
  async result(name: string, args?: unknown): Promise<Said['result']> {
    return (await this.tool(name, args)).at(-1)?.result
  }

  async #respond(request: Said): Promise<void> {
    const answer = await this.#answer?.(request)
    if (answer === undefined) return
    const id = JSON.stringify(request.id)
    await this.link.send(
      'error' in answer
        ? makeError(id, answer.error.code, answer.error.message, answer.error.data)
        : makeResult(id, answer.result)
    )
  }
}

export const saidOf = (message: Message): Said => JSON.parse(bytes(message).toString()) as Said

export async function connect(
  t: Test,
  backend: ModuleBackend,
  options: ClientOptions = {},
  principal = anonymous.key
): Promise<ModuleClient> {
  const received: Said[] = []
  const link = await backend.open({
    principal: { key: principal },
    client: {
      version: options.version ?? '2025-11-25',
      capabilities: JSON.stringify(options.capabilities ?? {}),
      info: '{"name":"test","version":"1"}'
    },
    signal: new AbortController().signal,
    receive: message => received.push(saidOf(message)),
    ended: () => {}
  })
  t.teardown(() => link.close())
  return new ModuleClient(link, received, options.answer, principal)
}

export async function serve(
  t: Test,
  definition: Omit<HandlerDefinition, 'name'> & { readonly name?: string },
  options: Omit<ModuleOptions, 'name'> = {}
): Promise<ModuleBackend> {
  const handlers = [defineHandler({ name: 'test', ...definition })]
  const backend = await createModuleBackend({ name: 'mod', handlers, ...options })
  t.teardown(() => backend.close())
  return backend
}

/** A client of a backend with these handlers. */
export const clientOf = async (
  t: Test,
  definition: Omit<HandlerDefinition, 'name'>,
  options: ClientOptions = {}
): Promise<ModuleClient> => connect(t, await serve(t, definition), options)

/** What the operator is told while the test runs. */
export function notices(t: Test): NoticeFact[] {
  const told: NoticeFact[] = []
  t.teardown(facts.notice.subscribe(fact => told.push(fact)))
  return told
}
