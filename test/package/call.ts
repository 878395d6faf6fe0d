import assert from 'node:assert/strict'

type Body = { result?: Record<string, unknown>; error?: unknown }

const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

const read = async (response: Response): Promise<Body> => {
  const text = await response.text()
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  const lines = text.split('\n').filter(line => line.startsWith('data: {'))
  return JSON.parse(isStream ? (lines.at(-1)?.slice('data: '.length) ?? '{}') : text)
}

/** A session from `initialize` to DELETE, with one call of one tool in between. Rejects when anything is not as it should be. */
export const callOnce = async (url: string, tool: string, args: Record<string, unknown>): Promise<void> => {
  const post = (message: object, more: Record<string, string> = {}): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      signal: AbortSignal.timeout(10_000)
    })

  const clientInfo = { name: 'package-proof', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const opened = await post({ id: 1, method: 'initialize', params })
  assert.equal(opened.status, 200)
  const session = {
    'mcp-session-id': opened.headers.get('mcp-session-id') ?? '',
    'mcp-protocol-version': '2025-11-25'
  }
  assert.equal((await read(opened)).result?.protocolVersion, '2025-11-25')
  assert.equal((await post({ method: 'notifications/initialized' }, session)).status, 202)

  const called = await post({ id: 2, method: 'tools/call', params: { name: tool, arguments: args } }, session)
  assert.equal(called.status, 200)
  const { result } = await read(called)
  assert.ok(Array.isArray(result?.content) && result.isError !== true, `the call of ${tool}: ${JSON.stringify(result)}`)

  const ended = await fetch(url, { method: 'DELETE', headers: session })
  assert.equal(ended.status, 204)
}
