/**
 * An MCP server of the legacy era that does what a test says, good or bad. It knows no transport: a transport gives it every
 * text that comes in, together with where the answers go, and is told what belongs to no exchange.
 */
import { type Message, readMessage, stringParam, textMeta, textParam } from '../../src/protocol/message.ts'
import { value } from '../../src/protocol/write.ts'

/** Where a transport takes what belongs to one incoming message. */
export interface Outlet {
  /** One JSON text, written as it is. `last`: it is the response. */
  write(json: string, last: boolean): void
  /** The connection breaks, or the process dies. */
  die(): void
}

/** A JSON-RPC response as a value. */
export interface Answer {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

export type Behaviour = (turn: Turn) => void | Promise<void>

/** One request in the server's hands. */
export class Turn {
  readonly message: Message
  readonly server: Scripted
  readonly #outlet: Outlet
  /** Resolves to the reason when the client cancels this request. */
  readonly cancelled: Promise<string | undefined>
  readonly cancel: (reason: string | undefined) => void

  constructor(server: Scripted, message: Message, outlet: Outlet) {
    this.server = server
    this.message = message
    this.#outlet = outlet
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    this.cancelled = promise
    this.cancel = resolve
  }

  /** Of tools/call and prompts/get. */
  get name(): string | undefined {
    return stringParam(this.message, 'name')
  }

  /** JSON text of `params.arguments` as it came. */
  get arguments(): string {
    return textParam(this.message, 'arguments') ?? '{}'
  }

  /** JSON text of the progress token as it came. */
  get token(): string | undefined {
    return textMeta(this.message, 'progressToken')
  }

  /** Any text on this exchange's stream. */
  raw(json: string): void {
    this.#outlet.write(json, false)
  }

  notify(method: string, params?: unknown): void {
    this.raw(JSON.stringify({ jsonrpc: '2.0', method, params }))
  }

  progress(progress: number, token = this.token): void {
    this.raw(
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":${progress}}}`
    )
  }

  /** A request to the client on this exchange's stream; resolves to what the client answered. */
  ask(method: string, params?: unknown): Promise<Answer> {
    return this.server.ask(json => this.raw(json), method, params)
  }

  /** The response; `result` is JSON text, `id` the id as JSON text. */
  answer(result: string, id = this.message.id): void {
    this.#outlet.write(`{"jsonrpc":"2.0","id":${id},"result":${result}}`, true)
  }

  refuse(code: number, message: string, data?: unknown): void {
    this.#outlet.write(
      `{"jsonrpc":"2.0","id":${this.message.id},"error":${JSON.stringify({ code, message, data })}}`,
      true
    )
  }

  die(): void {
    this.#outlet.die()
  }
}

export class Scripted {
  /** Every message that came in, in order. */
  readonly heard: Message[] = []
  /** What it says of itself; JSON text of the InitializeResult. */
  initializeResult =
    '{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{}},' +
    '"serverInfo":{"name":"scripted","version":"1"},"instructions":"do as told","extra":9007199254740993}'
  /** Set by the transport: sends what belongs to no exchange; false when nobody listens. */
  outside: (json: string) => boolean = () => false
  /** Set by the transport. */
  onForget: () => void = () => {}
  readonly #behaviours = new Map<string, Behaviour>()
  readonly #turns = new Map<string, Turn>()
  readonly #asked = new Map<string, (answer: Answer) => void>()
  #lastAsk = 0

  constructor() {
    this.on('initialize', turn => turn.answer(this.initializeResult))
    this.on('ping', turn => turn.answer('{}'))
  }

  /** What a request of this method (for tools: `tools/call:<name>`) gets. Without a behaviour: -32601. */
  on(method: string, behaviour: Behaviour): this {
    this.#behaviours.set(method, behaviour)
    return this
  }

  /** A message of the client, from the transport. `session`: ids are those of the requests of one session. */
  accept(text: Buffer | string, outlet: Outlet, session: string | number = ''): void {
    const message = readMessage(Buffer.from(text), 1_000)
    this.heard.push(message)
    if (message.kind === 'request') this.#request(message, outlet, session)
    else if (message.kind === 'response') this.#answered(message)
    else if (message.method === 'notifications/cancelled') {
      this.#turns.get(`${session} ${textParam(message, 'requestId')}`)?.cancel(stringParam(message, 'reason'))
    }
  }

  /** Messages of a method that came in. */
  heardOf(method: string): Message[] {
    return this.heard.filter(message => message.method === method)
  }

  /** A notification outside of exchanges. */
  announce(method: string, params?: unknown): boolean {
    return this.outside(JSON.stringify({ jsonrpc: '2.0', method, params }))
  }

  /** Lets go of everything that was heard. */
  forget(): void {
    this.heard.length = 0
    this.#turns.clear()
    this.onForget()
  }

  ask(write: (json: string) => void, method: string, params?: unknown): Promise<Answer> {
    const id = `ask-${++this.#lastAsk}`
    const { promise, resolve } = Promise.withResolvers<Answer>()
    this.#asked.set(JSON.stringify(id), resolve)
    write(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    return promise
  }

  #request(message: Message, outlet: Outlet, session: string | number): void {
    const turn = new Turn(this, message, outlet)
    this.#turns.set(`${session} ${message.id}`, turn)
    const behaviour =
      this.#behaviours.get(`${message.method}:${turn.name}`) ??
      this.#behaviours.get(message.method!) ??
      (() => turn.refuse(-32601, 'no such method'))
    void behaviour(turn)
  }

  #answered(message: Message): void {
    this.#asked.get(message.id ?? '')?.(value(message) as Answer)
    this.#asked.delete(message.id ?? '')
  }
}

/** A result with what a re-serialising gateway would change. JSON text. */
export const oddResult =
  '{"content":[{"type":"text","text":"\\u0041\\ud83d\\ude00 \\u2028"},{"type":"x-future","z":1,"a":null}],' +
  '"big":9007199254740993,"one":1.0,"tiny":-0,"huge":1e400,"empty":[],"none":{},"b":1,"a":2,"_meta":{"x/y":[1.50]}}'

const text = (words: string): string => JSON.stringify({ content: [{ type: 'text', text: words }] })

/** Text that the tool `slow` answers with once it is cancelled. */
export const lateText = 'too late'

/**
 * The tools that the Backend contract suite calls. `echo`: arguments as text. `odd`: {@link oddResult}. `progress`: three
 * values, then the answer. `stray`: progress of another token, a response to nobody, then the answer, then progress and the
 * answer once more. `ask`: what an elicitation was answered with, as text. `ping`: the answer to a ping. `never`. `slow`: answers
 * when it is cancelled. `string`: the id comes back as a string. `refuse`: an error with data. `die`: breaks after one
 * progress. `garbage`: texts that are no messages, then the answer. `large`: as many characters as `arguments.size`.
 * `flood`: `arguments.count` logs, then the answer.
 */
export function contractTools(server: Scripted): Scripted {
  const tool = (name: string, behaviour: Behaviour): Scripted => server.on(`tools/call:${name}`, behaviour)
  tool('echo', turn => turn.answer(text(turn.arguments)))
  tool('odd', turn => turn.answer(oddResult))
  tool('progress', turn => {
    for (const step of [1, 2, 3]) if (turn.token !== undefined) turn.progress(step)
    turn.answer(text('done'))
  })
  tool('stray', turn => {
    turn.progress(1, '"nobody\'s"')
    turn.raw('{"jsonrpc":"2.0","id":"nobody\'s","result":{}}')
    turn.answer(text('done'))
    turn.progress(2)
    turn.answer(text('again'))
  })
  tool('ask', async turn => {
    const { result, error } = await turn.ask('elicitation/create', {
      message: 'Your name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } }
    })
    turn.answer(text(JSON.stringify(result ?? error)))
  })
  tool('ping', async turn => turn.answer(text(JSON.stringify((await turn.ask('ping')).result))))
  tool('never', () => {})
  tool('slow', async turn => {
    await turn.cancelled
    turn.answer(text(lateText))
  })
  tool('string', turn => turn.answer(text('done'), `"${turn.message.id}"`))
  tool('refuse', turn => turn.refuse(-32042, 'no', { why: ['because'] }))
  tool('die', turn => {
    turn.notify('notifications/message', { level: 'error', data: 'dying' })
    turn.die()
  })
  tool('garbage', turn => {
    turn.raw('{"jsonrpc":"2.0"')
    turn.raw('[1]')
    turn.raw('{"jsonrpc":"1.0","method":"x"}')
    turn.answer(text('done'))
  })
  tool('large', turn => turn.answer(text('x'.repeat(JSON.parse(turn.arguments).size))))
  tool('flood', turn => {
    const { count } = JSON.parse(turn.arguments)
    for (let i = 0; i < count; i++) turn.notify('notifications/message', { level: 'info', data: i })
    turn.answer(text('done'))
  })
  return server
}
