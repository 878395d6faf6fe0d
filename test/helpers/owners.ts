/** Clients that all use the same ids and tokens, and calls that take as long as they like: whether each gets what is its own (S15). */
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { behind, type Kind } from './behind.ts'
import { Random } from './random.ts'
import { RawClient } from './raw-client.ts'
import { Scripted } from './scripted.ts'
import { startSeveral } from './several.ts'

export interface OwnersLoad {
  readonly clients: number
  /** Calls that a client has under way at once. */
  readonly atOnce: number
  /** In all. */
  readonly calls: number
  readonly seed: number
}

interface Place {
  readonly url: string
  /** What a tool is called, and who is to answer. */
  readonly tools: readonly { readonly name: string; readonly from: string }[]
  forget(): void
}

/** Answers with the owner that it was told, after as long as it was told. */
function own(server: Scripted, from: string): Scripted {
  return server.on('tools/call:own', async turn => {
    const { owner, delay, progress } = JSON.parse(turn.arguments)
    await sleep(delay)
    if (progress)
      turn.raw(
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${turn.token},"progress":1,"message":"${owner}"}}`
      )
    turn.answer(JSON.stringify({ content: [], owner, from }))
  })
}

async function one(t: Test, kind: Kind): Promise<Place> {
  const server = own(new Scripted(), '')
  const { url } = await behind(t, kind, { server })
  return { url, tools: [{ name: 'own', from: '' }], forget: () => server.forget() }
}

/** Three backends with a tool of the same name on one route. */
async function several(t: Test): Promise<Place> {
  const { url, catalogs } = await startSeveral(t, {
    a: { tools: ['own'] },
    b: { tools: ['own'] },
    c: { tools: ['own'] }
  })
  const all = Object.values(catalogs)
  for (const { server, name } of all) own(server, name)
  return {
    url,
    tools: all.map(({ name }) => ({ name: `${name}_own`, from: name })),
    forget: () => {
      for (const { server } of all) server.forget()
    }
  }
}

/** Resolves to what somebody got that was not its own, and the number of calls. */
export async function owners(
  t: Test,
  kind: Kind | 'several',
  { clients, atOnce, calls, seed }: OwnersLoad
): Promise<{ readonly wrong: readonly string[]; readonly calls: number }> {
  const random = new Random(seed)
  const { url, tools, forget } = await (kind === 'several' ? several(t) : one(t, kind))
  const agent = new http.Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const wrong: string[] = []
  let done = 0
  const call = async (client: RawClient, owner: string): Promise<void> => {
    const progress = random.below(10) < 3
    const { name, from } = random.pick(tools)
    const { json, events } = await client.post({
      id: 1,
      method: 'tools/call',
      params: { name, arguments: { owner, delay: random.below(9), progress }, _meta: { progressToken: 1 } }
    })
    if (json === undefined) await events.whole(60_000)
    const [response, ...before] = [json ?? events.messages.at(-1), ...events.messages.slice(0, -1)]
    const own =
      response?.id === 1 &&
      response.result?.owner === owner &&
      response.result.from === from &&
      before.length === Number(progress) &&
      before.every(({ params }) => params.message === owner && params.progressToken === 1)
    if (!own) wrong.push(`${owner}: ${JSON.stringify([...before, response])}`)
    // What was heard is of no use here.
    if (++done % 1_000 === 0) forget()
  }
  const opened: RawClient[] = []
  for (let c = 0; c < clients; c++) {
    const client = await RawClient.open(url)
    client.agent = agent
    opened.push(client)
  }
  let next = 0
  await Promise.all(
    opened.flatMap((client, c) =>
      Array.from({ length: atOnce }, async (_, n) => {
        while (next < calls) await call(client, `${c} ${n} ${next++}`)
      })
    )
  )
  return { wrong, calls: done }
}
