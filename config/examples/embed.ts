/** The gateway inside of a program of yours, with a tool that the program adds. */
import { join } from 'node:path'
import { createGateway, faultOfHandler, loadConfig } from 'causeway'

const gateway = await createGateway(await loadConfig(join(import.meta.dirname, 'handlers.yaml')))
gateway.handler('shop').addTool({ name: 'hours', title: 'Opening hours', handler: () => 'From 9 to 18.' })
await gateway.listen()
console.log(`serving ${gateway.url('/mcp')}`)

process.once('SIGTERM', () => gateway.close())
process.on('uncaughtException', error => {
  if (faultOfHandler(error)) return
  console.error(error)
  process.exit(1)
})
