/** Clients that all use the same ids and tokens, and calls that take as long as they like: whether each gets what is its own (S15). */
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { behind, type Kind } from './behind.ts'
import { Random } from './random.ts'
import { RawClient } from './raw-client.ts'
import { Scripted } from './scripted.ts'

export interface OwnersLoad {
  readonly clients: number
  /** Calls that a client has under way at once. */
  readonly atOnce: number
  /** In all. */
  readonly calls: number
  readonly seed: number
}

/** Resolves to what somebody got that was not its own, and the number of calls. */
export async function owners(
  t: Test,
  kind: Kind,
  { clients, atOnce, calls, seed }: OwnersLoad
): Promise<{ readonly wrong: readonly string[]; readonly calls: number }> {
  const random = new Random(seed)
  const server = new Scripted()
  server.on('tools/call:own', async turn => {
    const { owner, delay, progress } = JSON.parse(turn.arguments)
    await sleep(delay)
    if (progress)
      turn.raw(
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${turn.token},"progress":1,"message":"${owner}"}}`
      )
    turn.answer(JSON.stringify({ content: [], owner }))
  })
  const { url } = await behind(t, kind, { server })
  const agent = new http.Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const wrong: string[] = []
  let done = 0
  const one = async (client: RawClient, owner: string): Promise<void> => {
    const progress = random.below(10) < 3
    const { json, events } = await client.post({
      id: 1,
      method: 'tools/call',
      params: { name: 'own', arguments: { owner, delay: random.below(9), progress }, _meta: { progressToken: 1 } }
    })
    if (json === undefined) await events.whole(60_000)
    const [response, ...before] = [json ?? events.messages.at(-1), ...events.messages.slice(0, -1)]
    const own =
      response?.id === 1 &&
      response.result?.owner === owner &&
      before.length === Number(progress) &&
      before.every(({ params }) => params.message === owner && params.progressToken === 1)
    if (!own) wrong.push(`${owner}: ${JSON.stringify([...before, response])}`)
    // What was heard is of no use here.
    if (++done % 1_000 === 0) server.forget()
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
        while (next < calls) await one(client, `${c} ${n} ${next++}`)
      })
    )
  )
  return { wrong, calls: done }
}
