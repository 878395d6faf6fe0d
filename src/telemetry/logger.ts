/** The log: facts as lines on standard output, JSON or for people. */
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { isatty } from 'node:tty'
import { pino } from 'pino'
import type { Config } from '../config/config.ts'
import { Batch, type Sink } from './batch.ts'
import { DropSummary } from './drop-summary.ts'
import { facts, type NoticeFact } from './events.ts'
import { prettyLines } from './pretty.ts'
import { createRedactor } from './redact.ts'
import { requestLine } from './request-line.ts'

export interface LoggerOptions {
  /** Where lines go instead of standard output; one or more whole lines at a time. */
  readonly destination?: Sink
  /** Values that must never be seen in a line: configured headers, variables, keys. */
  readonly secrets?: Iterable<string>
}

type Say = (text: string, data?: Readonly<Record<string, unknown>>) => void

export interface Logger {
  readonly debug: Say
  readonly info: Say
  readonly warn: Say
  readonly error: Say
  /** Another level or format, and other secrets, from now on. */
  tune(config: Config['logging'], secrets: Iterable<string>): void
  /** Writes what waits and lets go of everything. Takes at most a second, whatever the reader does. Never rejects. */
  close(): Promise<void>
}

/** Bytes that may wait for a reader of standard output that does not read; what comes then is lost and counted. */
const maxWaiting = 8 * 1024 * 1024
const closeMs = 1_000
/** Secrets looked for; those of the earliest configs are forgotten then. */
const rememberedSecrets = 10_000

const openStdout = (): ReturnType<typeof pino.destination> =>
  pino.destination({ dest: 1, sync: false, maxLength: maxWaiting })

/** Logs the facts of this process from `config.level` on. What is below the level is not even listened to. */
export const createLogger = (config: Config['logging'], options: LoggerOptions = {}): Logger => {
  const stdout = options.destination === undefined ? openStdout() : undefined
  const sink = options.destination ?? stdout!
  const toPretty = prettyLines(stdout !== undefined && isatty(1) && !process.env.NO_COLOR)
  let { format } = config
  const lines = new Batch({ write: text => sink.write(format === 'pretty' ? toPretty(text) : text) })
  // Those of an earlier config may still be said.
  const secrets = new Set(options.secrets)
  let redactor = createRedactor(secrets)
  const logger = pino(
    { level: config.level, base: null, formatters: { level: label => ({ level: label }) }, serializers: {} },
    lines
  )

  const say = ({ level, text, backend, error, data }: NoticeFact): void => {
    if (!logger.isLevelEnabled(level)) return
    logger[level](
      {
        ...(data === undefined ? undefined : (redactor.value(data) as object)),
        ...(backend === undefined ? undefined : { backend }),
        ...(error === undefined ? undefined : { error: redactor.value(error) })
      },
      redactor.text(text)
    )
    if (level !== 'debug') lines.flush()
  }

  const wants = (level: NoticeFact['level']): boolean => logger.isLevelEnabled(level)
  const drops = new DropSummary(drop => logger.debug(drop, 'dropped'))
  const subscriptions: (() => void)[] = []
  const unsubscribe = (): void => {
    for (const end of subscriptions.splice(0)) end()
  }
  const subscribe = (): void => {
    if (wants('info')) subscriptions.push(facts.request.subscribe(fact => lines.write(requestLine(fact))))
    if (wants('debug')) {
      subscriptions.push(
        facts.session.subscribe(({ event, ...fact }) => logger.debug(fact, `session ${event}`)),
        facts.drop.subscribe(fact => drops.add(fact))
      )
    }
    if (wants('error')) subscriptions.push(facts.notice.subscribe(say))
    if (wants('warn')) {
      subscriptions.push(
        facts.backend.subscribe(({ backend, up, reason }) =>
          say({
            level: up ? 'info' : 'warn',
            text: `backend ${up ? 'up' : 'down'}`,
            backend,
            ...(reason === undefined ? {} : { data: { reason } })
          })
        )
      )
    }
  }
  subscribe()

  let lost = 0
  stdout?.on('drop', (chunk: string) => {
    lost += chunk.split('\n').length - 1
  })
  stdout?.on('drain', () => {
    if (lost === 0) return
    logger.warn({ lost }, 'log lines were lost: standard output is read too slowly')
    lost = 0
  })
  // A full disk or a closed pipe is no reason to stop serving.
  let broken = false
  stdout?.on('error', () => {
    broken = true
  })
  stdout?.on('write', () => {
    broken = false
  })
  // A program that ends without close. Before pino's own listener, which ends the destination.
  const onBeforeExit = (): void => lines.flush()
  const onExit = (): void => {
    lines.flush()
    stdout?.flushSync()
  }
  process.prependListener('beforeExit', onBeforeExit)
  process.prependListener('exit', onExit)

  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    unsubscribe()
    drops.flush()
    lines.flush()
    process.off('beforeExit', onBeforeExit)
    process.off('exit', onExit)
    if (stdout === undefined || broken) return
    const deadline = new AbortController()
    const closed = once(stdout, 'close', { signal: deadline.signal }).catch(() => {})
    stdout.end()
    await Promise.race([closed, wait(closeMs, undefined, { signal: deadline.signal }).catch(() => {})])
    deadline.abort()
  }

  const at =
    (level: NoticeFact['level']): Say =>
    (text, data) =>
      say({ level, text, ...(data === undefined ? {} : { data }) })

  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    tune(next, others) {
      for (const secret of others) secrets.add(secret)
      for (const oldest of secrets) {
        if (secrets.size <= rememberedSecrets) break
        secrets.delete(oldest)
      }
      redactor = createRedactor(secrets)
      if (next.format !== format) lines.flush()
      format = next.format
      if (next.level === logger.level) return
      unsubscribe()
      drops.flush()
      logger.level = next.level
      subscribe()
    },
    close: () => (closing ??= close())
  }
}
