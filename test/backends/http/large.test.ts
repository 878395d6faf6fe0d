/** Large JSON results, whose memory is given back as soon as they are written. */
import { createHash } from 'node:crypto'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { dispose, markDisposable } from '../../../src/protocol/disposable.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { HttpUpstream } from '../../helpers/http-upstream.ts'
import { RawClient } from '../../helpers/raw-client.ts'
import { contractTools, Scripted } from '../../helpers/scripted.ts'

const hashOf = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')

t.test('only what was marked is given back, and only once', async t => {
  const kept = Buffer.from(new ArrayBuffer(8))
  dispose(kept)
  t.equal(kept.length, 8)
  markDisposable(kept)
  dispose(kept)
  t.equal(kept.length, 0)
  dispose(kept)
})

t.test('results of megabytes come whole and each to its owner, however slowly they are read', async t => {
  const server = contractTools(new Scripted())
  const textOf = (n: number): string => `${n} `.repeat(400_000 + 1_000 * n)
  for (let n = 0; n < 12; n++) {
    server.on(`tools/call:t${n}`, turn => turn.answer(JSON.stringify({ content: [{ type: 'text', text: textOf(n) }] })))
  }
  const upstream = await HttpUpstream.start(server, { json: true })
  t.teardown(() => upstream.close())
  const gateway = await startGateway(t, { backends: { docs: { kind: 'http', url: upstream.url } } })
  const client = await RawClient.open(gateway.url)
  const read = (n: number): Promise<string> =>
    new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': client.session!
      }
      const request = http.request(gateway.url, { method: 'POST', headers, agent: false }, async response => {
        const chunks: Buffer[] = []
        // Most of it waits in the gateway meanwhile.
        if (n % 2 === 0) await sleep(200)
        for await (const chunk of response) chunks.push(chunk as Buffer)
        const { result } = JSON.parse(Buffer.concat(chunks).toString()) as { result: { content: { text: string }[] } }
        resolve(hashOf(result.content[0]!.text))
      })
      request.on('error', reject)
      request.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: `t${n}` } }))
    })
  for (let round = 0; round < 3; round++) {
    const hashes = await Promise.all(Array.from({ length: 12 }, (_, n) => read(n)))
    t.same(
      hashes,
      Array.from({ length: 12 }, (_, n) => hashOf(textOf(n)))
    )
  }
})
