/** What a client does in each of the suite's client scenarios, and what it has to find. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import type { Driver, Tool } from './drivers.ts'

/** `context`: what the scenario tells its client. Rejects when something is not as expected. */
export type Drive = (driver: Driver, context: Readonly<Record<string, unknown>>) => Promise<void>

interface ToolCall {
  readonly name: string
  readonly arguments: Record<string, unknown>
}

const listing: Drive = async driver => {
  await driver.listTools()
}

const adding: Drive = async driver => {
  const [tool] = await driver.listTools()
  match(await driver.callTool(tool!.name, { a: 2, b: 3 }), /2.*3.*5/)
}

const callingEach: Drive = async driver => {
  for (const tool of await driver.listTools()) ok(await driver.callTool(tool.name, sample(tool)))
}

const sample = ({ inputSchema }: Tool): Record<string, unknown> => {
  const { required = [] } = inputSchema as { required?: readonly string[] }
  return Object.fromEntries(required.map(name => [name, 'x']))
}

export const drives: Readonly<Record<string, Drive>> = {
  initialize: listing,
  tools_call: adding,
  'request-metadata': listing,
  'json-schema-ref-no-deref': listing,
  'elicitation-sep1034-client-defaults': callingEach,
  async 'sse-retry'(driver) {
    await driver.listTools()
    ok(await driver.callTool('test_reconnection'))
  },
  async 'http-standard-headers'(driver) {
    await callingEach(driver, {})
    for (const uri of await driver.listResources()) ok(await driver.readResource(uri))
    for (const name of await driver.listPrompts()) ok(await driver.getPrompt(name))
  },
  async 'http-custom-headers'(driver, context) {
    await driver.listTools()
    for (const { name, arguments: args } of context.toolCalls as readonly ToolCall[])
      ok(await driver.callTool(name, args))
  },
  async 'http-invalid-tool-headers'(driver) {
    deepEqual(
      (await driver.listTools()).map(({ name }) => name),
      ['valid_tool']
    )
    await callingEach(driver, {})
  },
  async 'sep-2322-client-request-state'(driver) {
    await driver.listTools()
    equal(await driver.callTool('test_mrtr_echo_state'), 'echo-state-ok')
    equal(await driver.callTool('test_mrtr_unrelated'), 'unrelated-ok')
    equal(await driver.callTool('test_mrtr_no_state'), 'no-state-ok')
    equal(await driver.callTool('test_mrtr_no_result_type'), 'no-result-type-test-ok')
  },
  async 'json-schema-2020-12-preservation'(driver) {
    const tool = (await driver.listTools()).find(({ name }) => name === 'json_schema_2020_12_tool')
    equal(await driver.callTool('json_schema_echo', { schema: tool!.inputSchema }), 'echoed')
  }
}
