/** Lists that differ by who asks, merged and cached, never given to another (S12). */

import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Authenticator } from '../../src/auth/principal.ts'
import { GatewayError } from '../../src/errors.ts'
import type { Catalog } from '../helpers/catalog.ts'
import { Random } from '../helpers/random.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { names, startSeveral, wholeList } from '../helpers/several.ts'

failOnRejections(t)

const authenticator: Authenticator = {
  authenticate({ authorization }) {
    const user = /^Bearer ([a-z]+)$/.exec(authorization ?? '')?.[1]
    if (user === undefined) throw new GatewayError('origin', 'who are you?')
    return { key: `issuer ${user}`, issuer: 'issuer', subject: user }
  }
}

class User extends RawClient {
  readonly name: string
  constructor(url: string, name: string) {
    super(url)
    this.name = name
  }
  override get headers(): Record<string, string | undefined> {
    return { ...super.headers, authorization: `Bearer ${this.name}` }
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
    { parts: { authenticator }, route: { listTtl: '20ms' } }
  )
  personal(catalogs.a)
  personal(catalogs.b)
  const users: User[] = []
  for (const name of ['alice', 'bob', 'carol', 'alice', 'bob', 'carol'])
    users.push(await new User(url, name).initialize())
  const wrong: string[] = []
  const one = async (): Promise<void> => {
    const user = random.pick(users)
    const other = random.pick(users)
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
