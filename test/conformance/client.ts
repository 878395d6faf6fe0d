import { startGateway } from '../helpers/gateway-process.ts'
import { connectLegacy, connectModern } from './drivers.ts'
import { type Drive, drives } from './drives.ts'
import { driven } from './suite.ts'

/**
 * `client.ts URL`: the command that the official suite runs for its client scenarios. Starts the built gateway in front of
 * the scenario's server and drives it, once as a client of 2025-11-25 and once as one of 2026-07-28: whatever the suite sees
 * of a client is the gateway. Says at its end when both found what
 * they expected.
 */

const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ''
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as Record<string, unknown>
const url = process.argv.at(-1)
const drive: Drive | undefined = drives[scenario]
if (drive === undefined) throw new Error(`Nothing is known of the scenario "${scenario}"`)

const gateway = await startGateway({ backends: { scenario: { kind: 'http', url } } })
try {
  for (const connect of [connectLegacy, connectModern]) {
    const driver = await connect(gateway.url())
    await drive(driver, context)
    await driver.close()
  }
} catch (error) {
  console.error(gateway.output())
  throw error
} finally {
  await gateway.stop()
}
console.log(driven)
