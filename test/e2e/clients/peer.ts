/** What the end-to-end features need of an MCP client, whatever SDK it is made of. Results are what the SDK returned. */
export interface Peer {
  /** The version that the server agreed to. */
  readonly version: string | undefined
  readonly capabilities: Record<string, unknown>
  readonly instructions: string | undefined
  /** Notifications (but progress) and requests that came from the server. */
  readonly heard: Heard
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<unknown>
  listResources(): Promise<{ resources: { uri: string }[] }>
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>
  readResource(uri: string): Promise<unknown>
  subscribe(uri: string): Promise<unknown>
  unsubscribe(uri: string): Promise<unknown>
  listPrompts(): Promise<{ prompts: { name: string }[] }>
  getPrompt(name: string, args?: Record<string, string>): Promise<unknown>
  complete(ref: Ref, argument: Argument, context?: { arguments: Record<string, string> }): Promise<unknown>
  /** From here on changes of lists are told: clients of 2025 have nothing to do for it. */
  listenToLists(): Promise<unknown>
  setLevel(level: 'debug' | 'info' | 'error' | 'emergency'): Promise<unknown>
  ping(): Promise<unknown>
  rootsChanged(): Promise<unknown>
  /** Any request, its result unchecked. */
  request(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>>
  /** Ends the session (DELETE over HTTP), then the connection. */
  close(): Promise<void>
}

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly onprogress?: (progress: { progress: number; total?: number | undefined }) => void
}

export type Ref = { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string }
export interface Argument {
  readonly name: string
  readonly value: string
}

/** What the client says when the server asks; the caller changes it between calls. */
export interface Answers {
  roots: { uri: string; name: string }[]
  sample: string
  elicitation: {
    action: 'accept' | 'decline' | 'cancel'
    content?: Record<string, string | number | boolean | string[]>
  }
  /** In place of `elicitation`: an answer to this request. */
  user?: (params: Record<string, any>) => Answers['elicitation']
  /** In place of `sample`: an answer to this request. */
  model?: (params: Record<string, any>) => any
}

/** What a client says of itself unless told otherwise. */
export const everything = { roots: { listChanged: true }, sampling: {}, elicitation: { form: {}, url: {} } }

export type Capabilities = Readonly<Record<string, any>>

/** Over Streamable HTTP, or a child of the client itself. */
export type Target = { readonly url: string } | { readonly command: string; readonly args: readonly string[] }

export type Connect = (target: Target, answers: Answers, capabilities?: Capabilities) => Promise<Peer>

export interface Incoming {
  readonly method: string
  readonly params?: Record<string, unknown> | undefined
}

/** Everything that came, in order, and a way to wait for what has not come yet. */
export class Heard {
  readonly all: Incoming[] = []
  private readonly waiting = new Set<() => void>()

  push(message: Incoming): void {
    this.all.push(message)
    for (const look of this.waiting) look()
  }

  count(matches: (message: Incoming) => boolean): number {
    return this.all.filter(matches).length
  }

  /** The first message at or after `from` that matches, already here or still to come. Rejects at the deadline. */
  first(matches: (message: Incoming) => boolean, from = 0, deadlineMs = 10_000): Promise<Incoming> {
    const { promise, resolve, reject } = Promise.withResolvers<Incoming>()
    const look = () => {
      const message = this.all.slice(from).find(matches)
      if (message) resolve(message)
    }
    const timer = setTimeout(() => {
      reject(new Error(`Not heard within ${deadlineMs} ms; heard: ${JSON.stringify(this.all)}`))
    }, deadlineMs)
    this.waiting.add(look)
    look()
    return promise.finally(() => {
      clearTimeout(timer)
      this.waiting.delete(look)
    })
  }
}
