/**
 * One child process and its end. It leads a process group of its own. The constructor throws a GatewayError when there is
 * nothing to start; whatever goes wrong later is told by `over`.
 */
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { GatewayError } from '../../errors.ts'
import { Flow } from '../flow.ts'
import { endGroup, rememberGroup, signalGroup } from './group.ts'
import { type Program, start, startFailure } from './program.ts'

/** Milliseconds: from the end of its input to SIGTERM, from there to SIGKILL. */
export interface Graces {
  readonly input: number
  readonly terminate: number
}

export interface ChildEvents {
  /** False: no more until `resume`. */
  output(chunk: Buffer): boolean
  log(chunk: Buffer): void
  /** Once: it is gone, or closed its output, and everything it said was told. `how` it ended, for people. */
  over(how: string): void
}

/** How long its output may go on after its exit (others may hold the pipe), and its life after the end of a pipe. */
const afterEndMs = 250

/** What may wait for it to read its input (bytes). */
const maxQueued = 16 * 1024 * 1024

export class Child {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #program: Program
  readonly #events: ChildEvents
  readonly #graces: Graces
  readonly #output: Flow
  readonly #gone = Promise.withResolvers<void>()
  #exit: string | undefined
  #outputEnded = false
  #stopping = false
  #over = false
  /** To the next, harsher signal. */
  #escalation: NodeJS.Timeout | undefined
  /** To the end of waiting for the other half of an end. */
  #patience: NodeJS.Timeout | undefined

  constructor(program: Program, events: ChildEvents, graces: Graces) {
    this.#program = program
    this.#events = events
    this.#graces = graces
    this.#child = start(program)
    this.#output = new Flow(this.#child.stdout)
    if (this.#child.pid !== undefined) rememberGroup(this.#child.pid)
    this.#listen()
  }

  /** Resolves when the process and its group are no more. */
  get gone(): Promise<void> {
    return this.#gone.promise
  }

  /** Resolves when the pipe has taken it; rejects with `backend_broke`, or `overloaded` when it reads too little. */
  write(line: Buffer): Promise<void> {
    const { stdin } = this.#child
    if (!stdin.writable) return Promise.reject(this.#error('backend_broke', 'its input is closed'))
    if (stdin.writableLength > maxQueued) {
      return Promise.reject(this.#error('overloaded', 'it does not read its input fast enough'))
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    stdin.cork()
    stdin.write(line)
    stdin.write('\n', cause => {
      if (cause) reject(this.#error('backend_broke', 'its input is closed', cause))
      else resolve()
    })
    process.nextTick(() => stdin.uncork())
    return promise
  }

  resume(): void {
    this.#output.release()
  }

  /**
   * End of input, SIGTERM, SIGKILL, each when the one before did not help (basic/lifecycle, "Shutdown"). Resolves when it
   * is gone; never rejects.
   */
  stop(graces: Graces = this.#graces): Promise<void> {
    if (this.#stopping) return this.gone
    this.#stopping = true
    this.#child.stdin.end()
    this.#output.release()
    if (this.#exit !== undefined) return this.gone
    this.#escalation = setTimeout(() => {
      this.#signal('SIGTERM')
      this.#escalation = setTimeout(() => this.#signal('SIGKILL'), graces.terminate)
    }, graces.input)
    return this.gone
  }

  #listen(): void {
    const child = this.#child
    child.on('error', error => {
      // Not started: no `exit` will come. After that an error is a signal that did not arrive, and changes nothing.
      if (child.pid === undefined) this.#onExit(startFailure(this.#program.command, error))
    })
    child.on('exit', (code, signal) => {
      this.#onExit(
        `"${this.#program.command}" ${code === null ? `was ended by ${signal}` : `exited with code ${code}`}`
      )
    })
    child.stdin.on('error', () => this.#leaving())
    child.stdout.on('error', () => {})
    child.stderr.on('error', () => {})
    child.stdout.on('data', (chunk: Buffer) => {
      if (!this.#events.output(chunk) && !this.#stopping) this.#output.hold()
      this.#output.took(chunk.length)
    })
    child.stdout.on('close', () => {
      this.#outputEnded = true
      this.#leaving()
    })
    child.stderr.on('data', (chunk: Buffer) => this.#events.log(chunk))
  }

  /** It closed a pipe. Mostly it is about to exit; if not, there is nothing more to be had from it. */
  #leaving(): void {
    if (this.#exit !== undefined) {
      if (this.#outputEnded) this.#end(this.#exit)
      return
    }
    void this.stop({ input: afterEndMs, terminate: this.#graces.terminate })
    this.#patience ??= setTimeout(() => {
      this.#end(`"${this.#program.command}" closed its ${this.#outputEnded ? 'output' : 'input'}`)
    }, afterEndMs)
  }

  #onExit(how: string): void {
    this.#exit = how
    clearTimeout(this.#escalation)
    clearTimeout(this.#patience)
    this.#output.release()
    const { pid } = this.#child
    if (pid === undefined) this.#gone.resolve()
    else endGroup(pid, this.#graces.terminate).then(this.#gone.resolve)
    if (this.#outputEnded || pid === undefined) this.#end(how)
    else this.#patience = setTimeout(() => this.#end(how), afterEndMs)
  }

  #end(how: string): void {
    clearTimeout(this.#patience)
    if (this.#over) return
    this.#over = true
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream.destroy()
    this.#events.over(how)
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#child.pid !== undefined) signalGroup(this.#child.pid, signal)
  }

  #error(code: 'backend_broke' | 'overloaded', text: string, cause?: unknown): GatewayError {
    const { backend } = this.#program
    return new GatewayError(code, `backend "${backend}": ${text}`, { backend, cause })
  }
}
