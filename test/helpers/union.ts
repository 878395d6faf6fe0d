/** A gateway in front of several scripted servers on one route: one MCP server to its clients. */
import type { Test } from 'tap'
import type { Parts } from '../../src/index.ts'
import { type RunningGateway, startGateway } from './gateway.ts'
import { HttpUpstream, type HttpUpstreamOptions } from './http-upstream.ts'
import { RawClient } from './raw-client.ts'
import { Scripted } from './scripted.ts'

export interface ServerScript {
  /** Names of its tools. Each answers with `<server>:<name>` and its arguments. */
  readonly tools?: readonly string[]
  readonly prompts?: readonly string[]
  readonly resources?: readonly string[]
  readonly templates?: readonly string[]
  readonly capabilities?: object
  readonly instructions?: string
}

/** A server that has things and lists them; what it has can be changed while it runs. */
export class Stocked extends Scripted {
  readonly name: string
  tools: string[]
  prompts: string[]
  resources: string[]
  templates: string[]

  constructor(name: string, script: ServerScript) {
    super()
    this.name = name
    this.tools = [...(script.tools ?? [])]
    this.prompts = [...(script.prompts ?? [])]
    this.resources = [...(script.resources ?? [])]
    this.templates = [...(script.templates ?? [])]
    const capabilities = script.capabilities ?? {
      ...(script.tools && { tools: { listChanged: true } }),
      ...(script.prompts && { prompts: { listChanged: true } }),
      ...((script.resources ?? script.templates) && { resources: { subscribe: true, listChanged: true } })
    }
    this.initializeResult = JSON.stringify({
      protocolVersion: '2025-11-25',
      capabilities,
      serverInfo: { name, version: '1' },
      instructions: script.instructions
    })
    this.on('tools/list', turn =>
      turn.answer(JSON.stringify({ tools: this.tools.map(tool => ({ name: tool, inputSchema: { type: 'object' } })) }))
    )
    this.on('prompts/list', turn => turn.answer(JSON.stringify({ prompts: this.prompts.map(name => ({ name })) })))
    this.on('resources/list', turn =>
      turn.answer(JSON.stringify({ resources: this.resources.map(uri => ({ uri, name: uri })) }))
    )
    this.on('resources/templates/list', turn =>
      turn.answer(
        JSON.stringify({ resourceTemplates: this.templates.map(uriTemplate => ({ uriTemplate, name: 't' })) })
      )
    )
    this.on('tools/call', turn => {
      if (this.tools.includes(turn.name ?? '')) turn.answer(saying(`${name}:${turn.name} ${turn.arguments}`))
      else turn.refuse(-32602, `unknown tool at ${name}: ${turn.name}`)
    })
    this.on('prompts/get', turn =>
      turn.answer(
        JSON.stringify({
          messages: [{ role: 'user', content: { type: 'text', text: `${name}:${turn.name}` } }]
        })
      )
    )
  }
}

export interface Together extends RunningGateway {
  readonly servers: Readonly<Record<string, Stocked>>
  readonly upstreams: Readonly<Record<string, HttpUpstream>>
  open(options?: Parameters<typeof RawClient.open>[1]): Promise<RawClient>
}

export interface TogetherOptions {
  /** Further members of the route, as in the file. */
  readonly route?: Record<string, unknown>
  /** Further members of the entries of backends, as in the file. */
  readonly backends?: Record<string, Record<string, unknown>>
  readonly upstreams?: Record<string, HttpUpstreamOptions>
  readonly file?: Record<string, unknown>
  readonly parts?: Parts
}

/** Several servers at `/mcp`, in the order in which they are given. */
export async function together(
  t: Test,
  scripts: Readonly<Record<string, ServerScript>>,
  options: TogetherOptions = {}
): Promise<Together> {
  const servers: Record<string, Stocked> = {}
  const upstreams: Record<string, HttpUpstream> = {}
  const backends: Record<string, unknown> = {}
  for (const [name, script] of Object.entries(scripts)) {
    servers[name] = new Stocked(name, script)
    upstreams[name] = await HttpUpstream.start(servers[name], options.upstreams?.[name])
    t.teardown(() => upstreams[name]!.close())
    backends[name] = { kind: 'http', url: upstreams[name].url, ...options.backends?.[name] }
  }
  const routes = { '/mcp': { backends: Object.keys(scripts), ...options.route } }
  const running = await startGateway(t, { backends, routes, ...options.file }, import.meta.dirname, options.parts)
  return { ...running, servers, upstreams, open: options => RawClient.open(running.url, options) }
}

/** Text of a tool result that says it. */
export const saying = (text: string): string => JSON.stringify({ content: [{ type: 'text', text }] })

/** What a tool result says. */
export const said = ({ json }: { readonly json: any }): string | undefined => json?.result?.content?.[0]?.text

export const namesIn = ({ json }: { readonly json: any }, key = 'tools'): string[] =>
  json.result[key].map((item: any) => item.name ?? item.uri)
