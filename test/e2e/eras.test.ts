/** Every feature by every kind of client at every kind of backend, in both eras, with the official SDKs (issue of both eras, docs/eras.md). */
import t from 'tap'
import { readText } from '../helpers/docs.ts'
import type { Target } from './clients/peer.ts'
import { type Column, runColumn, startServers } from './eras/matrix.ts'
import { type BackendName, backends, type ClientName, clients, legacyBackends, legacyClients } from './eras/names.ts'
import { page, written } from './eras/page.ts'

t.setTimeout(180_000)

const servers = await startServers(t)

async function run(title: string, client: ClientName, backend: BackendName, target: Target): Promise<Column> {
  let column: Column = new Map()
  await t.test(title, async t => {
    column = await runColumn(servers.world, client, backend, target)
    for (const [{ name }, outcome] of column) {
      if (!('wrong' in outcome)) t.pass(name)
      else t.fail(name, { found: outcome.wrong instanceof Error ? outcome.wrong.stack : outcome.wrong })
    }
  })
  return column
}

const columns = new Map(clients.map(client => [client, new Map<BackendName, Column>()]))
for (const client of clients) {
  for (const backend of backends) {
    columns.get(client)!.set(backend, await run(`${client} uses ${backend}`, client, backend, servers.gateway[backend]))
  }
}

t.test(`${page} is what ran; node test/e2e/eras/generate.ts writes it anew`, async t => {
  t.equal(await readText(page), written(columns))
})

// What fails through the gateway and not here is the gateway's fault.
for (const client of clients) {
  for (const [backend, target] of Object.entries(servers.direct) as [keyof typeof servers.direct, Target][]) {
    if (legacyClients.includes(client) !== legacyBackends.includes(backend)) continue
    await run(`${client} uses ${backend} without the gateway`, client, backend, target)
  }
}
