/** Every feature by every kind of client at each of several backends of both eras that are one server (docs/eras.md). */
import t from 'tap'
import { prefixes, runColumn, startServers } from './eras/matrix.ts'
import { backends, clients } from './eras/names.ts'
import { tried } from './eras/tried.ts'

t.setTimeout(180_000)

const { world, together } = await startServers(t)

for (const client of clients) {
  for (const backend of backends) {
    await tried(t, `${client} uses ${backend} behind the route of all`, () =>
      runColumn(world, client, backend, together, prefixes[backend])
    )
  }
}
