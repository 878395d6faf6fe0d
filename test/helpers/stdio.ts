import { fileURLToPath } from 'node:url'
import { anonymous } from '../../src/auth/principal.ts'
import type { Backend, Exchange, Link, OpenOptions } from '../../src/backends/backend.ts'
import { createStdioBackend, type StdioBackendOptions } from '../../src/backends/stdio/backend.ts'
import { makeRequest } from '../../src/protocol/make.ts'
import type { Message } from '../../src/protocol/message.ts'
import { value } from '../../src/protocol/write.ts'

export const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/stdio/${name}`, import.meta.url))

/** A stdio backend on the fixture server; `flags` are the server's. */
export const stdioBackend = (flags: readonly string[] = [], options: Partial<StdioBackendOptions> = {}): Backend =>
  createStdioBackend({
    name: 'files',
    command: process.execPath,
    args: [fixture('server.mjs'), ...flags],
    timeout: 10_000,
    graces: { input: 2_000, terminate: 500 },
    ...options
  })

export interface Opened {
  readonly link: Link
  readonly received: Message[]
  readonly ended: Error[]
}

export const client = { version: '2025-11-25', capabilities: '{"roots":{}}', info: '{"name":"c","version":"1"}' }

export async function open(backend: Backend, options: Partial<OpenOptions> = {}): Promise<Opened> {
  const received: Message[] = []
  const ended: Error[] = []
  const link = await backend.open({
    principal: anonymous,
    client,
    signal: new AbortController().signal,
    receive: message => received.push(message),
    ended: reason => ended.push(reason),
    ...options
  })
  return { link, received, ended }
}

let last = 0

export const call = (link: Link, name: string, args?: unknown, meta?: unknown): Exchange =>
  link.exchange(
    makeRequest(String(++last), 'tools/call', {
      name,
      arguments: args,
      ...(meta === undefined ? {} : { _meta: meta })
    }),
    { principal: anonymous }
  )

export async function all(exchange: Exchange): Promise<Message[]> {
  const messages: Message[] = []
  for await (const message of exchange) messages.push(message)
  return messages
}

/** Text of the first block of the result that ends the exchange. */
export async function textOf(exchange: Exchange): Promise<string> {
  const response = value((await all(exchange)).at(-1)!) as { result: { content: [{ text: string }] } }
  return response.result.content[0].text
}
