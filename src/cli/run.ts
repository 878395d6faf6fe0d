import type { EventEmitter } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { isatty } from 'node:tty'
import closeWithGrace from 'close-with-grace'
import { faultOfHandler } from '../backends/scope.ts'
import type { Config } from '../config/config.ts'
import { type ExitCode, exit } from './exit.ts'

/** What this needs of a gateway. */
export interface Runnable {
  listen(): Promise<void>
  /** Drains and ends; `deadline` in milliseconds in place of the configured one. */
  close(options?: { readonly deadline?: number }): Promise<void>
  /** Goes on with another config; rejects when it is refused. Tells about it itself. */
  reload(config: Promise<Config>): Promise<unknown>
}

/** Follows what the config was read from. `changed` gets what stands there from now on. */
export type Follow = (changed: (config: Promise<Config>) => void) => {
  /** Reads it now, whether or not it changed. */
  force(): void
  close(): void
}

/** After an error nobody caught nothing is certain any more: this long for calls in flight, in milliseconds. */
const crashDeadline = 4000
/** And this long for whatever hangs while closing. */
const crashLimit = 5000
/** What closing may take beyond the configured delay and deadline. */
const slack = 3000

/** Signals that mean "end", not those that mean the process is broken (a listener for these only hides it). */
const broken = ['SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV', 'SIGUSR2', 'beforeExit'] as const

const within = (ms: number, work: Promise<void>): Promise<void> =>
  Promise.race([work, new Promise<void>(resolve => void setTimeout(resolve, ms).unref())])

/** The innermost system error, if any is in the chain of causes. */
const systemError = (error: unknown): NodeJS.ErrnoException | undefined => {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if ('code' in inner && 'syscall' in inner) return inner as NodeJS.ErrnoException
  }
  return undefined
}

/** One line that says why the gateway did not start and what to do. */
export const reasonOf = (error: unknown, { admin }: Config): string => {
  const { code, address, port } = (systemError(error) ?? {}) as { code?: string; address?: string; port?: number }
  const key = port !== undefined && port === admin?.port ? 'admin' : 'server'
  switch (port === undefined ? undefined : code) {
    case 'EADDRINUSE':
      return `${address}:${port} is in use by another program: end that one, or change ${key}.port`
    case 'EACCES':
      return `no permission to listen on ${address}:${port}: ports below 1024 need privileges, change ${key}.port`
    case 'EADDRNOTAVAIL':
      return `${address} is no address of this machine: change ${key}.host`
    default:
      return (error instanceof Error ? error.message : String(error)).split('\n')[0]!
  }
}

/** Whether the terminal of this process was closed: nobody means a reload by that. */
const isTerminalGone = (): boolean => {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return false
  } catch {
    return true
  }
}

/**
 * Starts a gateway and keeps it until a signal. The first SIGTERM, SIGINT (or SIGQUIT) drains it and ends the process with 0,
 * a second one ends it at once with 1. SIGHUP reads the config again, unless its terminal is gone. An error nobody caught is told, drains briefly and ends it with 1.
 * @returns once it listens, or failed to
 */
export const run = async (
  config: Config,
  create: (config: Config) => Promise<Runnable>,
  error: (text: string) => void,
  follow?: Follow
): Promise<ExitCode> => {
  const say = (text: string): void => error(`causeway: ${text}\n`)
  let gateway: Runnable | undefined
  let following: ReturnType<Follow> | undefined
  const { delay, deadline } = config.server.shutdown

  const grace = closeWithGrace(
    {
      delay: delay + deadline + slack,
      logger: { error: (cause: unknown) => say(`failed to close: ${cause instanceof Error ? cause.stack : cause}`) },
      // A rejection that nobody handles is thrown by Node, and comes as an error that nobody caught.
      skip: [...broken, 'unhandledRejection', 'SIGHUP'],
      onSecondSignal: signal => say(`${signal} again: ending at once`),
      onSecondError: cause => say(`another error while ending: ${cause instanceof Error ? cause.stack : cause}`),
      onTimeout: () => say('not everything closed in time: ending at once')
    },
    async ({ err }) => {
      following?.close()
      if (err === undefined) return gateway?.close()
      say(`an error nobody caught, ending: ${err instanceof Error ? err.stack : err}`)
      if (gateway !== undefined) await within(crashLimit, gateway.close({ deadline: crashDeadline }))
    }
  )

  process.setUncaughtExceptionCaptureCallback(cause => {
    if (!faultOfHandler(cause)) (process as EventEmitter).emit('uncaughtException', cause, 'uncaughtException')
  })
  const hadTerminal = isatty(0)
  const onHangUp = (): void => {
    if (hadTerminal && isTerminalGone()) grace.close()
    else following?.force()
  }
  process.on('SIGHUP', onHangUp)
  try {
    const started = await create(config)
    gateway = started
    await started.listen()
    following = follow?.(next => void started.reload(next).catch(() => {}))
    return exit.ok
  } catch (cause) {
    process.off('SIGHUP', onHangUp)
    grace.uninstall()
    say(`cannot start: ${reasonOf(cause, config)}`)
    await within(crashLimit, gateway?.close({ deadline: 0 }) ?? Promise.resolve()).catch(() => undefined)
    return exit.failure
  }
}
