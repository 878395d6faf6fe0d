/** Backends of every kind that play what calls tell them to, and that crash when the model says so. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { Scripted, type Turn } from '../helpers/scripted.ts'
import { SseUpstream } from '../helpers/sse-upstream.ts'
import { stdioUpstream } from '../helpers/stdio-upstream.ts'
import type { Ledger, Record } from './ledger.ts'

export const kinds = ['http', 'events', 'sse', 'stdio', 'shared'] as const
export type Kind = (typeof kinds)[number]

export interface Upstream {
  readonly kind: Kind
  /** Entry under `backends`. */
  readonly config: { readonly [key: string]: unknown }
  /** Every connection breaks; what is in flight goes on in the backend where it can. */
  cut(): void
  /** The process ends: it forgets everything. */
  crash(): void
  /** Between a crash and the restart nobody answers. Only http. */
  down: boolean
  /** It crashed, and its start is left alone for a while: calls may find it unavailable. Only stdio. */
  shaky: boolean
  /** Nothing that was heard is needed any more. */
  forget(): void
}

/** Plays the script of a call and keeps the ledger; an older generation is dead. */
async function play(turn: Turn, ledger: Ledger, alive: () => boolean): Promise<void> {
  const { uid } = JSON.parse(turn.arguments) as { uid: string }
  const record = ledger.get(uid)
  if (record === undefined) return turn.refuse(-32000, `nobody called ${uid}`)
  record.starts++
  void turn.cancelled.then(() => {
    record.cancelled = true
    record.onStep?.()
  })
  const goesOn = (): boolean => alive() && !record.cancelled
  for (const step of record.script.steps) {
    if (step.delay > 0) await sleep(step.delay)
    if (!goesOn()) break
    if (step.kind === 'ask') await ask(turn, record)
    else say(turn, record, step)
    record.onStep?.()
  }
  record.over = true
  if (goesOn() && record.script.end !== 'never') {
    record.answered = true
    if (record.script.end === 'refuse') turn.refuse(-32042, 'no', { uid })
    else turn.answer(JSON.stringify({ content: [], uid, answers: record.answers }))
  }
  record.onStep?.()
}

function say(turn: Turn, record: Record, { count, pad }: { readonly count: number; readonly pad: number }): void {
  for (let i = 0; i < count; i++) {
    record.said++
    const message = JSON.stringify(`${record.uid} ${'x'.repeat(pad)}`)
    turn.raw(
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${turn.token},"progress":${record.said},"message":${message}}}`
    )
  }
}

async function ask(turn: Turn, record: Record): Promise<void> {
  record.asks++
  const answer = turn.ask('elicitation/create', { message: `${record.uid} ${record.asks}`, requestedSchema: {} })
  record.onStep?.()
  const { result, error } = await Promise.race([
    answer,
    turn.cancelled.then(() => ({ result: undefined, error: undefined }))
  ])
  record.answers.push(result ?? error)
}

function scripted(ledger: Ledger): { readonly server: Scripted; next(): void } {
  const server = new Scripted()
  let generation = 0
  server.on('tools/call:script', turn => {
    const born = generation
    return play(turn, ledger, () => generation === born)
  })
  return {
    server,
    next: () => {
      generation++
      server.forget()
    }
  }
}

async function http(t: Test, kind: 'http' | 'events', ledger: Ledger): Promise<Upstream> {
  const { server, next } = scripted(ledger)
  const upstream = await HttpUpstream.start(server, { events: kind === 'events' })
  t.teardown(() => upstream.close())
  const made: Upstream = {
    kind,
    config: { kind: 'http', url: upstream.url },
    cut: () => upstream.cut(),
    crash: () => {
      next()
      upstream.sessions.clear()
      upstream.cut()
    },
    down: false,
    shaky: false,
    forget: () => server.forget()
  }
  upstream.options.intercept = request => {
    if (made.down) request.socket.resetAndDestroy()
    return made.down
  }
  return made
}

async function sse(t: Test, ledger: Ledger): Promise<Upstream> {
  const { server, next } = scripted(ledger)
  const upstream = await SseUpstream.start(server)
  t.teardown(() => upstream.close())
  const crash = (): void => {
    next()
    for (const stream of upstream.streams.values()) stream.socket?.resetAndDestroy()
  }
  return {
    kind: 'sse',
    config: { kind: 'sse', url: upstream.url },
    cut: crash,
    crash,
    down: false,
    shaky: false,
    forget: () => server.forget()
  }
}

async function stdio(t: Test, kind: 'stdio' | 'shared', ledger: Ledger): Promise<Upstream> {
  const { server, next } = scripted(ledger)
  const { command, args, cut, close } = await stdioUpstream(server)
  t.teardown(close)
  const scope = kind === 'stdio' ? 'session' : 'shared'
  const made: Upstream = {
    kind,
    config: { kind: 'stdio', command, args, scope, maxProcesses: 100 },
    cut: () => made.crash(),
    crash: () => {
      made.shaky = true
      next()
      cut()
    },
    down: false,
    shaky: false,
    forget: () => server.forget()
  }
  return made
}

export async function startUpstreams(t: Test, ledger: Ledger): Promise<Map<Kind, Upstream>> {
  const started = await Promise.all([
    http(t, 'http', ledger),
    http(t, 'events', ledger),
    sse(t, ledger),
    stdio(t, 'stdio', ledger),
    stdio(t, 'shared', ledger)
  ])
  return new Map(started.map(upstream => [upstream.kind, upstream]))
}
