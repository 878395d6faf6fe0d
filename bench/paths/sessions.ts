import { setTimeout as sleep } from 'node:timers/promises'
import { type Gateway, startGateway } from '../gateway.ts'
import { runLoad } from '../load/run.ts'
import type { Options } from '../options.ts'
import type { Memory } from '../program.ts'
import type { Section } from '../report.ts'
import { startBackend } from './calls.ts'

/** Long enough for all of them to be open at once, on a slow machine too. */
const idleOf = (sessions: number): number => 2 + Math.ceil(sessions / 500)

/** Resolves once the gateway says on its admin listener that it has no session any more. */
const abandoned = async ({ adminUrl }: Gateway, idleSeconds: number): Promise<void> => {
  const deadline = performance.now() + (idleSeconds + 60) * 1000
  while (performance.now() < deadline) {
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
    const values = [...metrics.matchAll(/^\w+_sessions(?:\{[^}]*\})? (\d+)$/gm)].map(match => Number(match[1]))
    if (values.length === 0) throw new Error('no gauge of sessions in /metrics')
    if (values.every(value => value === 0)) {
      // What hangs on a session is freed by sweepers, some time after the session itself.
      await sleep((idleSeconds * 1000) / 2)
      return
    }
    await sleep(500)
  }
  throw new Error('sessions were still there a minute after their idle time')
}

/** Sessions opened and abandoned: is their memory given back after their idle time? */
export const measureSessions = async (options: Options, folder: string): Promise<Section> => {
  const idleSeconds = idleOf(options.sessions)
  const backend = await startBackend()
  const gateway = await startGateway({
    folder,
    backend: { kind: 'http', url: backend.url },
    sessions: { idle: `${idleSeconds}s` }
  })
  const memory = (): Promise<Memory> => gateway.program.memory()
  try {
    await runLoad('sessions', gateway.url, Math.ceil(options.sessions / 20))
    await abandoned(gateway, idleSeconds)
    const start = await memory()
    const { seconds } = await runLoad<{ seconds: number }>('sessions', gateway.url, options.sessions)
    const full = await memory()
    await abandoned(gateway, idleSeconds)
    const end = await memory()
    const row = (name: string, { rss, used }: Memory) => ({
      name,
      figures: { 'RSS MB': rss / 1e6, 'in use MB': used / 1e6 }
    })
    return {
      title: `${options.sessions} sessions opened and abandoned, idle time ${idleSeconds} s`,
      rows: [row('before', start), row('all open', full), row('after their idle time', end)],
      bars: [
        { name: 'memory in use, after to before', value: end.used / start.used, atMost: 1.1 },
        { name: 'RSS, after to before', value: end.rss / start.rss, atMost: 1.1 }
      ],
      notes: [`Opened at ${Math.round(options.sessions / seconds)} sessions/s.`]
    }
  } finally {
    await gateway.program.stop()
    await backend.program.stop()
  }
}
