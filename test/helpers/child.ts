import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** A process that a test started: what it said so far, and its end. */
export interface Child {
  readonly pid: number
  /** Everything on stdout and stderr so far. */
  output(): string
  /** The first whole line on stdout for which `found` gives something. Rejects at the deadline and when the child ends. */
  line<T>(found: (line: string) => T | undefined, deadlineMs?: number): Promise<T>
  exited(): boolean
  /** Resolves at the end of the process with its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>
  /** Ends stdin. */
  endInput(): void
  kill(signal: NodeJS.Signals): void
}

export interface ChildOptions {
  readonly cwd?: string
  /** Added to this process's environment. */
  readonly env?: Record<string, string>
}

/** Nothing that a test started outlives the test, whatever happens to it. */
const alive = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL')
})

export const startChild = (command: string, args: readonly string[], options: ChildOptions = {}): Child => {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(options.cwd && { cwd: options.cwd }),
    env: { ...process.env, ...options.env }
  })
  alive.add(child)
  let stdout = ''
  let output = ''
  const watchers = new Set<() => void>()
  let end: number | string | undefined
  const look = () => {
    for (const watcher of watchers) watcher()
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    output += text
    look()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stdin.on('error', () => {})
  const ended = (async () => {
    try {
      const [code, signal] = await once(child, 'close')
      end = code ?? signal
    } catch (error) {
      end = String(error)
    }
    alive.delete(child)
    look()
    return end as number | string
  })()

  return {
    pid: child.pid ?? -1,
    ended,
    output: () => output,
    exited: () => end !== undefined,
    line: (found, deadlineMs = 20_000) => {
      const { promise, resolve, reject } = Promise.withResolvers<NonNullable<ReturnType<typeof found>>>()
      let read = 0
      const watcher = () => {
        for (let next = stdout.indexOf('\n', read); next >= 0; next = stdout.indexOf('\n', read)) {
          const value = found(stdout.slice(read, next))
          read = next + 1
          if (value !== undefined && value !== null) return resolve(value)
        }
        if (end !== undefined) reject(new Error(`${command} ended (${end}) before the line came:\n${output}`))
      }
      const timer = setTimeout(() => reject(new Error(`No such line within ${deadlineMs} ms:\n${output}`)), deadlineMs)
      watchers.add(watcher)
      watcher()
      return promise.finally(() => {
        clearTimeout(timer)
        watchers.delete(watcher)
      })
    },
    endInput: () => child.stdin.end(),
    kill: signal => {
      child.kill(signal)
    }
  }
}

/** Its end within the deadline; after it the child is killed and the promise rejects. */
export const endOf = async (child: Child, deadlineMs: number): Promise<number | string> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(() => resolve(undefined), deadlineMs)
  })
  const end = await Promise.race([child.ended, late])
  clearTimeout(timer)
  if (end !== undefined) return end
  child.kill('SIGKILL')
  await child.ended
  throw new Error(`Still running ${deadlineMs} ms after it was told to end:\n${child.output()}`)
}
