/** Writes docs/eras.md anew, from what runs now. */
import { writeFileSync } from 'node:fs'
import { type Column, runColumn, startServers } from './matrix.ts'
import { type BackendName, backends, clients } from './names.ts'
import { page, written } from './page.ts'

const ends: (() => Promise<void>)[] = []
const servers = await startServers({ teardown: end => void ends.unshift(end) })
const columns = new Map(clients.map(client => [client, new Map<BackendName, Column>()]))
for (const client of clients) {
  for (const backend of backends) {
    columns.get(client)!.set(backend, await runColumn(servers.world, client, backend, servers.gateway[backend]))
  }
}
writeFileSync(new URL(`../../../${page}`, import.meta.url), written(columns))
for (const end of ends) await end()
