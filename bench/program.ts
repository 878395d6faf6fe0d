import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const preload = path.join(import.meta.dirname, 'preload.mjs')

/** A process after a full collection. */
export interface Memory {
  /** Bytes. */
  readonly rss: number
  /** Bytes in use by V8 and by buffers. */
  readonly used: number
  /** Milliseconds, the median of the scavenges since the last question; 0 when there was none. */
  readonly scavenge: number
}

export interface ProgramOptions {
  readonly args: readonly string[]
  /** The TCP port that tells that it is up. */
  readonly port: number
  /** A file that takes its standard output; none: thrown away. */
  readonly output?: string
  /** Started as it is, without the preload: what is not Node. */
  readonly command?: string
  readonly cwd?: string
}

/** A server under measurement, in a process of its own. */
export class Program {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  /** Rejects when the port does not open within 15 s. */
  static async start({ args, port, output, command, cwd }: ProgramOptions): Promise<Program> {
    const out = output === undefined ? 'ignore' : fs.openSync(output, 'w')
    const child =
      command === undefined
        ? spawn(process.execPath, ['--expose-gc', '--import', preload, ...args], {
            stdio: ['ignore', out, 'inherit', 'ipc'],
            cwd
          })
        : spawn(command, args, { stdio: ['ignore', out, 'ignore'], cwd })
    if (typeof out === 'number') fs.closeSync(out)
    const program = new Program(child)
    const exited = once(child, 'exit').then(([code]) => {
      throw new Error(`${[command, ...args].join(' ')} ended with ${code} before its port opened`)
    })
    exited.catch(() => {})
    try {
      await Promise.race([open(port), exited])
    } catch (error) {
      await program.stop()
      throw error
    }
    return program
  }

  /** CPU time so far, user and system, all threads, in microseconds. */
  cpu(): number {
    return cpuOf(this.#child.pid!)
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** The most memory it ever held, in bytes. */
  peak(): number {
    const status = fs.readFileSync(`/proc/${this.pid}/status`, 'utf8')
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024
  }

  async memory(): Promise<Memory> {
    this.#child.send('memory')
    const [memory] = await once(this.#child, 'message')
    return memory as Memory
  }

  /** The longest time (ms) that one task held the event loop since the last question; the first one begins it. */
  async longestTask(): Promise<number> {
    this.#child.send('task')
    const [longest] = await once(this.#child, 'message')
    return longest as number
  }

  /** TERM, and KILL after 5 s. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exit = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 5000)
    await exit
    clearTimeout(timer)
  }
}

/** Ticks are 10 ms on every Linux that Node runs on. */
export const cpuOf = (pid: number): number => {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

const open = async (port: number): Promise<void> => {
  const deadline = performance.now() + 15_000
  while (performance.now() < deadline) {
    const socket = net.connect(port, '127.0.0.1')
    const connected = await new Promise<boolean>(resolve => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    if (connected) return
    await sleep(50)
  }
  throw new Error(`nothing listens on port ${port} after 15 s`)
}

export const freePort = async (): Promise<number> => {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}
