/** Lists that differ by who asks, merged and cached, never given to another (S12). */

import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Catalog } from '../helpers/catalog.ts'
import { lastOf, ModernClient } from '../helpers/modern.ts'
import { Random } from '../helpers/random.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { names, startSeveral, wholeList } from '../helpers/several.ts'
import { as, users } from '../helpers/users.ts'

failOnRejections(t)

class User extends RawClient {
  readonly name: string
  constructor(url: string, name: string) {
    super(url)
    this.name = name
  }
  override get headers(): Record<string, string | undefined> {
    return { ...super.headers, ...as(this.name) }
  }
  async initialize(): Promise<this> {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: this.name, version: '1' } }
    const { headers } = await this.post({ id: 'i', method: 'initialize', params })
    this.session = headers['mcp-session-id'] as string
    await this.post({ method: 'notifications/initialized' })
    return this
  }
}

/** Lists, and lets call, what is of the user whose session it is. */
function personal(catalog: Catalog): void {
  let delay = 0
  catalog.intercept = async (request, response, body) => {
    if (request.method !== 'POST') return false
    const { id, method, params } = JSON.parse(body) as any
    if (method !== 'tools/list' && method !== 'tools/call') return false
    const user = catalog.clientOf(request).clientInfo.name
    await sleep(delay++ % 3)
    answer(
      response,
      id,
      method === 'tools/list'
        ? { tools: [tool(`${user}-of-${catalog.name}`)] }
        : { content: [], user, called: params.name }
    )
    return true
  }
}

const tool = (name: string) => ({ name, inputSchema: { type: 'object' } })

function answer(response: ServerResponse, id: unknown, result: object): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
}

t.test('1,000 lists and calls of three users in turn: nobody sees or calls what is of another (S12)', async t => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const random = new Random(seed)
  // Lists are forgotten all the time, so that they are read anew while others ask.
  const { url, catalogs } = await startSeveral(
    t,
    { a: { tools: ['?'] }, b: { tools: ['?'] } },
    { parts: { authenticator: users }, route: { listTtl: '20ms' } }
  )
  personal(catalogs.a)
  personal(catalogs.b)
  const callers: User[] = []
  for (const name of ['alice', 'bob', 'carol', 'alice', 'bob', 'carol'])
    callers.push(await new User(url, name).initialize())
  const wrong: string[] = []
  const one = async (): Promise<void> => {
    const user = random.pick(callers)
    const other = random.pick(callers)
    if (random.below(3) > 0) {
      const listed = names(await wholeList(user, 'tools/list'))
      if (listed.join() !== `${user.name}-of-a,${user.name}-of-b`) wrong.push(`${user.name} saw ${listed}`)
      return
    }
    const name = `${other.name}-of-${random.pick(['a', 'b'])}`
    const { json } = await user.post({ id: 1, method: 'tools/call', params: { name } })
    const right =
      other.name === user.name
        ? json.result?.user === user.name && json.result.called === name
        : json.error?.code === -32602
    if (!right) wrong.push(`${user.name} called ${name}: ${JSON.stringify(json)}`)
  }
  let left = 1_000
  await Promise.all(
    Array.from({ length: 10 }, async () => {
      while (left-- > 0) await one()
    })
  )
  t.same(wrong.slice(0, 5), [], `seed ${seed}`)
})

t.test('a list that depends on what the client can do is kept for such clients only (S12)', async t => {
  const { open, catalogs } = await startSeveral(t, { a: { tools: ['?'] }, b: { tools: ['other'] } })
  catalogs.a.intercept = (request, response, body) => {
    if (request.method !== 'POST') return false
    const { id, method } = JSON.parse(body) as any
    if (method !== 'tools/list') return false
    const asks = 'elicitation' in catalogs.a.clientOf(request).capabilities ? [tool('asks')] : []
    answer(response, id, { tools: [tool('plain'), ...asks] })
    return true
  }
  for (let i = 0; i < 2; i++) {
    const can = await open({ capabilities: { elicitation: {} } })
    t.same(names(await wholeList(can, 'tools/list')), ['plain', 'asks', 'other'])
    const cannot = await open({ capabilities: {} })
    t.same(names(await wholeList(cannot, 'tools/list')), ['plain', 'other'])
  }
})

t.test('the same of modern clients, whose list is private when any of its parts is (S12)', async t => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const random = new Random(seed)
  const { url, catalogs } = await startSeveral(
    t,
    { a: { tools: ['?'] }, b: { tools: ['?'] } },
    { parts: { authenticator: users }, route: { listTtl: '20ms' } }
  )
  // Who asks shows in the session alone: what is in it is its own.
  const sessions = new Map<string, string>()
  for (const catalog of Object.values(catalogs)) {
    catalog.intercept = (request, response, body) => {
      if (request.method !== 'POST') return false
      const { id, method, params } = JSON.parse(body) as any
      if (method !== 'tools/list' && method !== 'tools/call') return false
      const own = `of-${String(request.headers['mcp-session-id']).slice(0, 8)}`
      const list = { tools: [tool(own)], ttlMs: 60_000, cacheScope: catalog.name === 'a' ? 'public' : 'private' }
      answer(response, id, method === 'tools/list' ? list : { content: [], own, called: params.name })
      return true
    }
  }
  const client = new ModernClient(url)
  const wrong: string[] = []
  const one = async (): Promise<void> => {
    const user = random.pick(['alice', 'bob', 'carol'])
    const headers = as(user)
    if (random.below(3) > 0) {
      const { result } = await lastOf(await client.request('tools/list', {}, { headers }))
      if (result.tools.length !== 2) wrong.push(`${user} saw ${JSON.stringify(result)}`)
      for (const { name } of result.tools) {
        if ((sessions.get(name) ?? user) !== user) wrong.push(`${user} saw ${name} of ${sessions.get(name)}`)
        sessions.set(name, user)
      }
      if (result.cacheScope !== 'private') wrong.push(`${user} was told ${result.cacheScope}`)
      return
    }
    const name = random.pick([...sessions.keys(), 'of-nobody'])
    const { result, error } = await lastOf(await client.call(name, {}, { headers }))
    const right = sessions.get(name) === user ? result?.own === name && result.called === name : error?.code === -32602
    if (!right) wrong.push(`${user} called ${name} of ${sessions.get(name)}: ${JSON.stringify(result ?? error)}`)
  }
  let left = 1_000
  await Promise.all(
    Array.from({ length: 10 }, async () => {
      while (left-- > 0) await one()
    })
  )
  t.same(wrong.slice(0, 5), [], `seed ${seed}`)
  t.equal(sessions.size, 6, 'each has a session of its own with each backend')
})
