/** What JSON-RPC and MCP allow in the body of a POST, by session and version: status, code and id of each (R16, R25; RPC-05, RPC-08, RPC-11, RPC-13). */
import t from 'tap'
import { corpus, type Entry, titleOf } from '../helpers/corpus.ts'
import { startEdge } from '../helpers/edge.ts'
import { RawClient, type RawResponse, send } from '../helpers/raw-client.ts'
import { until } from '../helpers/until.ts'

interface Envelope extends Entry {
  readonly body: string
  readonly version?: string
  readonly session?: keyof typeof sessions
  readonly header?: string
  readonly status: number
  readonly answer?: Answer | readonly Answer[]
  readonly heard?: readonly string[]
}

interface Answer {
  readonly result?: true
  readonly error?: number
  /** As written. Without it the answer has none. */
  readonly id?: string
  /** That the answer to `initialize` names. */
  readonly version?: string
}

/** Instead of that of the session. */
const sessions = { none: undefined, unknown: 'A'.repeat(32), empty: '', proto: '__proto__' } as const

const entries = corpus<Envelope>('envelopes')

t.ok(entries.length >= 200)

t.test(
  'every body gets the answer that the protocol has for it, and the backend hears no more than it should',
  async t => {
    const { url, server } = await startEdge(t)
    const clients = new Map<string, RawClient>()
    for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
      clients.set(version, await RawClient.open(url, { version }))
    }
    for (const entry of entries) {
      await t.test(titleOf(entry), async t => {
        const client = clients.get(entry.version ?? '2025-11-25')!
        const headers = {
          ...client.headers,
          ...(entry.session === undefined
            ? {}
            : { 'mcp-session-id': sessions[entry.session], 'mcp-protocol-version': undefined }),
          ...(entry.header === undefined ? {} : { 'mcp-protocol-version': entry.header })
        }
        const from = server.heard.length
        const response = await send(url, { headers, body: entry.body })
        t.equal(response.status, entry.status)
        t.equal(response.headers['mcp-session-id'] !== undefined, hasVersion(entry.answer), 'a session is given')
        t.strictSame(inOneOrder(answersIn(response)), inOneOrder(entry.answer ?? 'nothing'))
        const heard = (): string[] => server.heard.slice(from).map(({ method }) => method!)
        await until('all that was passed on', () => heard().length >= (entry.heard?.length ?? 0))
        t.strictSame(heard(), entry.heard ?? [])
        t.equal((await client.request('ping')).status, 200, 'the session goes on')
      })
    }
  }
)

const hasVersion = (answer: Envelope['answer']): boolean => answer !== undefined && 'version' in answer

/** Answers of a batch come as they are ready. */
const inOneOrder = (answers: unknown): unknown =>
  Array.isArray(answers) ? answers.map(one => JSON.stringify(Object.entries(one).sort())).sort() : answers

function answersIn({ text, json }: RawResponse): unknown {
  if (text === '') return 'nothing'
  if (!Array.isArray(json)) return answerIn(json, idsIn(text)[0])
  const ids = idsIn(text)
  let next = 0
  return json.map(one => answerIn(one, 'id' in one ? ids[next++] : undefined))
}

/** Ids of the messages as they are written: ours stand behind the version or in front of the result. */
const idsIn = (text: string): string[] =>
  [...text.matchAll(/"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?\d+)/g)].map(([, id]) => id!)

function answerIn({ result, error }: any, id: string | undefined): Answer {
  return {
    ...(error === undefined ? { result: true } : { error: error.code }),
    ...(id === undefined ? {} : { id }),
    ...(result?.protocolVersion === undefined ? {} : { version: result.protocolVersion })
  }
}
