import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { startGateway } from '../helpers/gateway-process.ts'
import { everythingOverStdio, filesystem, memory, sequentialThinking } from '../helpers/real-servers.ts'

export interface FourServers {
  url(path?: string): string
  readonly folder: string
  /** The graph of server-memory. */
  readonly file: string
}

/** All on /mcp, each under names of its own, which differ; `/prefixed` has them with their backends' names before. */
export async function fourServers(t: Test): Promise<FourServers> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'causeway-e2e-')))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'memory.jsonl')
  await writeFile(file, '')
  const backends = {
    everything: { kind: 'stdio', ...everythingOverStdio() },
    files: { kind: 'stdio', ...filesystem(folder) },
    memory: { kind: 'stdio', ...memory(file) },
    thinking: { kind: 'stdio', ...sequentialThinking() }
  }
  const names = Object.keys(backends)
  const gateway = await startGateway({
    backends,
    routes: { '/mcp': { backends: names }, '/prefixed': { backends: names, prefix: 'always' } }
  })
  t.teardown(gateway.stop)
  return { url: gateway.url, folder, file }
}
