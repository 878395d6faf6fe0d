/** A child and what is said with it: lines to messages, messages to exchanges, its end to everybody who has a part in it. */
import { type ErrorCode, GatewayError } from '../../errors.ts'
import { type Asking, completed } from '../../protocol/envelope.ts'
import type { Message } from '../../protocol/message.ts'
import type { Era } from '../../protocol/version.ts'
import { line } from '../../protocol/write.ts'
import { Arrivals } from '../arrivals.ts'
import type { OpenOptions, Server, Upstream } from '../backend.ts'
import { Correlator } from '../correlate.ts'
import type { Verdict } from '../era.ts'
import { Intake, type UpstreamLimits } from '../intake.ts'
import { PipeLink } from '../pipe-link.ts'
import { Child, type Graces } from './child.ts'
import { Lines } from './lines.ts'
import { LogLines } from './log-lines.ts'
import { meet, type Start } from './meet.ts'
import type { Program } from './program.ts'

export interface ConversationOptions {
  readonly program: Program
  readonly limits: UpstreamLimits
  readonly graces: Graces
  readonly single: boolean
  /** Who the gateway is, for requests of its own. */
  readonly self: Asking
  /** It ended by itself, while it was in use. */
  readonly crashed: (how: string) => void
}

type Member = Pick<OpenOptions, 'receive' | 'ended' | 'client'>

export class Conversation {
  readonly #options: ConversationOptions
  readonly #backend: string
  readonly #child: Child
  readonly #correlator: Correlator
  readonly #intake: Intake
  readonly #arrivals: Arrivals
  readonly #lines: Lines
  /** The gateway asks. */
  readonly #upstream: Upstream = {
    exchange: request => this.#correlator.exchange(completed(request, this.#server!.version, this.#options.self))
  }
  readonly #members = new Map<PipeLink, Member>()
  #server: Server | undefined
  #ended: GatewayError | undefined
  #closing = false
  /** What comes now is an unfinished line. */
  #outputOver = false

  constructor(options: ConversationOptions) {
    const { program, limits } = options
    this.#options = options
    this.#backend = program.backend
    this.#arrivals = new Arrivals(program.backend, message => this.#deliver(message))
    this.#correlator = new Correlator({
      backend: program.backend,
      single: options.single,
      pipe: { write: message => this.#child.write(line(message)), resume: () => this.#resume() },
      receive: message => this.#arrivals.take(message)
    })
    this.#intake = new Intake(this.#correlator, program.backend, limits)
    this.#lines = new Lines(
      {
        line: bytes => this.#line(bytes),
        tooLarge: (head, tail) => this.#intake.largeOver(head, tail),
        endless: head => this.#endless(head)
      },
      limits.upstream
    )
    const log = new LogLines(program.backend)
    this.#child = new Child(
      program,
      {
        output: chunk => this.#lines.push(chunk),
        log: chunk => log.push(chunk),
        over: how => {
          this.#outputOver = true
          this.#lines.end()
          log.end()
          this.#over(how)
        }
      },
      options.graces
    )
  }

  /** Resolves when the process is no more. */
  get gone(): Promise<void> {
    return this.#child.gone
  }

  /** Whether links can still be had. */
  get live(): boolean {
    return this.#server !== undefined && this.#ended === undefined && !this.#closing
  }

  get unused(): boolean {
    return this.#members.size === 0
  }

  /** The era of a new program in place of this one, which came to nothing because it was asked for its own. */
  startAgainAs: Era | undefined

  /** Resolves to what it is. */
  async start(options: Start): Promise<Verdict> {
    try {
      const { verdict, server } = await meet(this.#correlator, {
        ...options,
        backend: this.#backend,
        self: this.#options.self,
        receive: message => this.#arrivals.take(message),
        spoiled: era => {
          this.startAgainAs = era
        }
      })
      this.#server = server
      return verdict
    } catch (error) {
      const reason = this.#ended ?? error
      await this.#end({ input: 0, terminate: Math.min(500, this.#options.graces.terminate) })
      throw reason
    }
  }

  /** After `start`. What came for nobody yet is told once the caller has its link. */
  join(member: Member): PipeLink {
    const server = this.#server!
    const [asking, upstream] = server.discovered === undefined ? [] : [member.client, this.#upstream]
    const link = new PipeLink(this.#backend, server, this.#correlator, left => this.#leave(left), asking, upstream)
    this.#members.set(link, member)
    this.#arrivals.release()
    return link
  }

  /** Ends the child whoever uses it; they are told. */
  async close(): Promise<void> {
    this.#closing = true
    this.#over('the gateway closed the backend')
    await this.#end()
  }

  #end(graces?: Graces): Promise<void> {
    this.#closing = true
    return this.#child.stop(graces)
  }

  async #leave(link: PipeLink): Promise<void> {
    const last = this.#members.delete(link) && this.#members.size === 0
    this.#correlator.closeAll(link, !last)
    if (last) await this.#end()
  }

  #resume(): void {
    if (this.#lines.resume()) this.#child.resume()
  }

  #line(bytes: Buffer): boolean {
    if (!this.#outputOver) return this.#intake.text(bytes)
    this.#intake.fragment(bytes)
    return true
  }

  #endless(head: Buffer): void {
    this.#intake.largeOver(head, empty)
    this.#over(`"${this.#options.program.command}" wrote a line without an end`)
    void this.#end({ input: 0, terminate: this.#options.graces.terminate })
  }

  /** A notification is for every link; a request wants one answer. */
  #deliver(message: Message): void {
    for (const { receive } of this.#members.values()) {
      receive(message)
      if (message.kind === 'request') return
    }
  }

  #over(how: string): void {
    if (this.#ended !== undefined) return
    this.#ended = this.#error(this.#server === undefined ? 'backend_unavailable' : 'backend_broke', how)
    this.#correlator.fail(this.#ended)
    const members = [...this.#members.values()]
    this.#members.clear()
    if (!this.#closing && this.#server !== undefined) this.#options.crashed(how)
    for (const { ended } of members) ended(this.#ended)
  }

  #error(code: ErrorCode, text: string): GatewayError {
    return new GatewayError(code, `backend "${this.#backend}": ${text}`, { backend: this.#backend })
  }
}

const empty = Buffer.alloc(0)
