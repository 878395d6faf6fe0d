/**
 * Every feature by every kind of client at each of several backends of both eras that are one server (docs/eras.md). By the
 * newest kind of client alone unless `CAUSEWAY_LONG=1`: the others take a minute more.
 */
import t from 'tap'
import { prefixes, runColumn, startServers } from './eras/matrix.ts'
import { backends, clients } from './eras/names.ts'
import { tried } from './eras/tried.ts'

t.setTimeout(180_000)

const { world, together } = await startServers(t)

const some = process.env.CAUSEWAY_LONG === undefined ? clients.slice(-1) : clients

for (const client of some) {
  for (const backend of backends) {
    await tried(t, `${client} uses ${backend} behind the route of all`, () =>
      runColumn(world, client, backend, together, prefixes[backend])
    )
  }
}
