/** Every feature by every kind of client at every kind of backend, in both eras, with the official SDKs: docs/eras.md. */
import t from 'tap'
import { readText } from '../helpers/docs.ts'
import type { Target } from './clients/peer.ts'
import { type Column, runColumn, startServers } from './eras/matrix.ts'
import { type BackendName, backends, clients, legacyBackends, legacyClients } from './eras/names.ts'
import { page, written } from './eras/page.ts'
import { tried } from './eras/tried.ts'

t.setTimeout(180_000)

const { world, gateway, direct } = await startServers(t)

const columns = new Map(clients.map(client => [client, new Map<BackendName, Column>()]))
for (const client of clients) {
  for (const backend of backends) {
    const run = () => runColumn(world, client, backend, gateway[backend])
    columns.get(client)!.set(backend, await tried(t, `${client} uses ${backend}`, run))
  }
}

t.test(`${page} is what ran; node test/e2e/eras/generate.ts writes it anew`, async t => {
  t.equal(await readText(page), written(columns))
})

// What fails through the gateway and not here is the gateway's fault.
for (const client of clients) {
  for (const [backend, target] of Object.entries(direct) as [keyof typeof direct, Target][]) {
    if (legacyClients.includes(client) !== legacyBackends.includes(backend)) continue
    await tried(t, `${client} uses ${backend} without the gateway`, () => runColumn(world, client, backend, target))
  }
}
