import { Connection } from './connection.ts'

/** What tells the two kinds of client apart: one shakes hands, the other says who it is with every request. */
export type Era = 'legacy' | 'modern'

const version = '2025-11-25'
const modernVersion = '2026-07-28'

/** The bytes of a POST, as a latin1 string. */
export const post = (url: URL, session: string, body: string): string =>
  `POST ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\n` +
  `Accept: application/json, text/event-stream\r\n${session}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

/** The bytes of a GET that opens a stream. */
export const get = (url: URL, session: string): string =>
  `GET ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nAccept: text/event-stream\r\n${session}\r\n`

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: version, capabilities: {}, clientInfo: { name: 'bench', version: '1' } }
})
const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}'

const envelope =
  `"_meta":{"io.modelcontextprotocol/protocolVersion":"${modernVersion}",` +
  '"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}'

/** A small call: method and params, as they stand in the message. */
export const smallCall = (era: Era): string =>
  '"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}' +
  `${era === 'modern' ? `,${envelope}` : ''}}`

/** The header lines of the small call of a client that knows no sessions. */
export const modernLines = `MCP-Protocol-Version: ${modernVersion}\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n`

/** Opens a session over that connection; resolves with the header lines of the requests that follow. */
export const openSession = async (connection: Connection, url: URL): Promise<string> => {
  const opened = await connection.fetch(post(url, '', initialize))
  if (opened.status !== 200) throw new Error(`initialize: ${opened.status} ${opened.start}`)
  const id = /\r\nmcp-session-id: *(\S+)/i.exec(opened.head)?.[1]
  const session = `MCP-Protocol-Version: ${version}\r\n${id === undefined ? '' : `Mcp-Session-Id: ${id}\r\n`}`
  const accepted = await connection.fetch(post(url, session, initialized))
  if (accepted.status !== 202) throw new Error(`notifications/initialized: ${accepted.status} ${accepted.start}`)
  return session
}

/** Sessions for whole crowds: `count` of them, `lanes` at a time, from eight addresses. */
export const openSessions = async (url: URL, count: number, lanes = 16): Promise<string[]> => {
  const sessions: string[] = []
  let left = count
  const lane = async (_: unknown, index: number): Promise<void> => {
    const connection = new Connection(url, addressOf(index))
    while (left-- > 0) sessions.push(await openSession(connection, url))
    connection.close()
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return sessions
}

export const addressOf = (index: number): string => `127.0.0.${1 + (index % 8)}`
