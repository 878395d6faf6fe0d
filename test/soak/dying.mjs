/** An MCP server on stdio that answers like any other, and dies a second after its start. */
setTimeout(() => process.exit(1), 1_000)

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'dying', version: '1' }
  }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'alive' }] })
}
let rest = ''
process.stdin.setEncoding('utf8').on('data', chunk => {
  const lines = (rest + chunk).split('\n')
  rest = lines.pop()
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) continue
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: answers[method]?.(params) ?? {} })}\n`)
  }
})
