/** A scripted server of 2026-07-28, over Streamable HTTP or on a pipe. */
import type { Test } from 'tap'
import { HttpUpstream, type HttpUpstreamOptions } from './http-upstream.ts'
import { Scripted } from './scripted.ts'

/** What it says of itself; `initialize` it does not know. */
export function modernScripted(discovered: object = {}): Scripted {
  const server = new Scripted()
  const result = {
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: { listChanged: true }, prompts: {}, resources: { subscribe: true }, logging: {} },
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'scripted', version: '1' } },
    ...discovered
  }
  server.on('server/discover', turn => turn.answer(JSON.stringify(result)))
  server.on('initialize', turn => turn.refuse(-32022, 'no', { supported: ['2026-07-28'], requested: '2025-11-25' }))
  server.on('tools/list', turn => turn.answer('{"resultType":"complete","tools":[]}'))
  return server
}

/** Over HTTP, with the entry under `backends`. */
export async function serveModern(
  t: Test,
  server: Scripted,
  options: HttpUpstreamOptions = {}
): Promise<{ readonly upstream: HttpUpstream; readonly config: { readonly kind: 'http'; readonly url: string } }> {
  const upstream = await HttpUpstream.start(server, { sessions: false, ...options })
  t.teardown(() => upstream.close())
  return { upstream, config: { kind: 'http', url: upstream.url } }
}

/** JSON text of a result that asks. */
export const asking = (inputRequests: object, more: object = {}): string =>
  JSON.stringify({ resultType: 'input_required', inputRequests, ...more })

export const form = (message: string): object => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties: {} } }
})
