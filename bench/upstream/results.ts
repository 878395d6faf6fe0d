/** What both bench backends answer, by method; everything else gets `{}`. */
export const resultOf = (method: string, version: unknown, text: string): unknown => {
  if (method === 'initialize') {
    return {
      protocolVersion: typeof version === 'string' ? version : '2025-11-25',
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'bench', version: '1' }
    }
  }
  if (method === 'tools/list') return { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }
  if (method === 'tools/call') return { content: [{ type: 'text', text }] }
  return {}
}
