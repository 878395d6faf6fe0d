/** An HTTP server whose every answer is the test's. */
import { once } from 'node:events'
import http, { type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Asked {
  readonly verb: string
  readonly headers: IncomingHttpHeaders
  /** The JSON-RPC method. */
  readonly method: string
  readonly body: any
}

/** A status with a body (JSON, or a text as it is), events, `hang` (nothing ever), or `reset`. */
export type Said =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Record<string, string> }
  | { readonly events: readonly unknown[]; readonly open?: boolean }
  | 'hang'
  | 'reset'

interface Owner {
  teardown(handler: () => Promise<void>): void
}

export interface Answering {
  readonly url: string
  readonly asked: Asked[]
  /** Methods of the POSTs that came, in order. */
  methods(): string[]
  /** Replaced as the test goes on. */
  answer: (asked: Asked) => Said
  /** Connections with a request on them. */
  open(): number
}

export async function startAnswering(t: Owner, answer: Answering['answer']): Promise<Answering> {
  const open = new Set<http.ServerResponse>()
  const server = http.createServer(async (request, response) => {
    open.add(response)
    response.on('close', () => open.delete(response))
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const body = text === '' ? {} : JSON.parse(text)
    const asked = { verb: request.method!, headers: request.headers, method: body.method ?? '', body }
    answering.asked.push(asked)
    const said = answering.answer(asked)
    if (said === 'hang') return
    if (said === 'reset') return void response.socket?.resetAndDestroy()
    if ('events' in said) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of said.events) response.write(`data: ${JSON.stringify(event)}\n\n`)
      if (said.open !== true) response.end()
      return
    }
    const type = typeof said.body === 'string' ? 'text/html' : 'application/json'
    response.writeHead(said.status, { 'content-type': type, ...said.headers })
    response.end(said.body === undefined || typeof said.body === 'string' ? said.body : JSON.stringify(said.body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.close()
    server.closeAllConnections()
  })
  const answering: Answering = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    asked: [],
    methods: () => answering.asked.filter(({ verb }) => verb === 'POST').map(({ method }) => method),
    answer,
    open: () => open.size
  }
  return answering
}

export const result = ({ body }: Asked, value: unknown): Said => ({
  status: 200,
  body: { jsonrpc: '2.0', id: body.id, result: value }
})

export const refusal = ({ body }: Asked, status: number, code: number, data?: unknown): Said => ({
  status,
  body: { jsonrpc: '2.0', id: body.id, error: { code, message: 'no', data } }
})

/** A modern server: `calls` answers what is no discovery. */
export const modern =
  (calls: (asked: Asked) => Said = asked => result(asked, { resultType: 'complete' }), discovered: object = {}) =>
  (asked: Asked): Said => {
    if (asked.method === 'server/discover') return result(asked, { ...discoverResult, ...discovered })
    return asked.method === 'initialize' ? refusal(asked, 400, -32022, { supported: ['2026-07-28'] }) : calls(asked)
  }

export const discoverResult = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: { listChanged: true } },
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'upstream', version: '7' } },
  instructions: 'do as told'
}

/** A server of 2025-11-25 without sessions. `unknown`: what it says to what it does not know. */
export const legacy =
  (unknown: (asked: Asked) => Said = asked => refusal(asked, 200, -32601)) =>
  (asked: Asked): Said => {
    if (asked.method === 'initialize') return result(asked, { protocolVersion: '2025-11-25', capabilities: {} })
    if (asked.method.startsWith('notifications/')) return { status: 202 }
    return asked.method === 'tools/call' && !JSON.stringify(asked.body).includes('io.modelcontextprotocol')
      ? result(asked, { content: [] })
      : unknown(asked)
  }
