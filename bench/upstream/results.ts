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

/** The same of a server that speaks 2026-07-28 alone. */
export const modernResultOf = (method: string, version: unknown, text: string): unknown => {
  const result = resultOf(method === 'server/discover' ? 'initialize' : method, version, text) as {
    readonly serverInfo?: unknown
  }
  const { serverInfo, ...rest } = result
  if (method !== 'server/discover') return { resultType: 'complete', ...rest }
  const _meta = { 'io.modelcontextprotocol/serverInfo': serverInfo }
  return { resultType: 'complete', supportedVersions: ['2026-07-28'], ...rest, _meta }
}
