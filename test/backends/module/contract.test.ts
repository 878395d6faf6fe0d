import { setTimeout as wait } from 'node:timers/promises'
import type { Backend } from '../../../src/backends/backend.ts'
import { createModuleBackend } from '../../../src/backends/module/backend.ts'
import { defineHandler, ProtocolError } from '../../../src/handlers/define.ts'
import { makeNotification, makeRequest, makeResult } from '../../../src/protocol/make.ts'
import { backendContract } from '../../contract/backend.ts'
import { lateText, type Scripted } from '../../helpers/scripted.ts'

/** The tools of the contract as handlers. What the server "hears" is what reaches them. */
function handlersFor(server: Scripted) {
  let calls = 0
  const heard = (): number => {
    const id = ++calls
    server.heard.push(makeRequest(String(id), 'tools/call'))
    return id
  }
  const cancelled = (id: number, signal: AbortSignal): void => {
    signal.addEventListener('abort', () => {
      const reason = (signal.reason as Error).message
      server.heard.push(makeNotification('notifications/cancelled', { requestId: id, reason }))
    })
  }
  const form = { type: 'object', properties: { name: { type: 'string' } } }
  return defineHandler({
    name: 'contract',
    logging: 'debug',
    tools: [
      {
        name: 'echo',
        handler(args) {
          heard()
          return JSON.stringify(args)
        }
      },
      {
        name: 'progress',
        handler(_args, { progress }) {
          heard()
          for (const step of [1, 2, 3]) progress(step)
          return 'done'
        }
      },
      {
        name: 'stray',
        handler(_args, { progress }) {
          heard()
          setImmediate(() => progress(2))
          return 'done'
        }
      },
      {
        name: 'ask',
        async handler(_args, { elicit, signal }) {
          cancelled(heard(), signal)
          const answer = await elicit('Your name?', form)
          server.heard.push(makeResult('1', answer))
          return JSON.stringify(answer)
        }
      },
      {
        name: 'never',
        handler(_args, { signal }) {
          cancelled(heard(), signal)
          return new Promise(() => {})
        }
      },
      {
        name: 'slow',
        async handler(_args, { signal }) {
          cancelled(heard(), signal)
          await wait(60_000, undefined, { signal }).catch(() => {})
          return lateText
        }
      },
      {
        name: 'refuse',
        handler() {
          throw new ProtocolError(-32042, 'no', { why: ['because'] })
        }
      },
      { name: 'large', handler: ({ size }) => 'x'.repeat(size) },
      {
        name: 'flood',
        async handler({ count }, { log }) {
          for (let i = 0; i < count; i++) await log.info(i)
          return 'done'
        }
      }
    ]
  })
}

const noUpstream = 'there is no upstream in between'

backendContract('module', {
  async make(server, { upstream }) {
    const handler = handlersFor(server)
    const backend = await createModuleBackend({ name: 'mod', handlers: [handler], limits: { upstream } })
    server.outside = json => {
      const { method, params } = JSON.parse(json)
      handler.broadcast(method, params)
      return true
    }
    /** The contract's client declares no elicitation. */
    const asking: Backend = {
      ...backend,
      open: options =>
        backend.open({ ...options, client: { ...options.client, capabilities: '{"elicitation":{},"roots":{}}' } })
    }
    return { backend: asking, close: () => backend.close() }
  },
  dies: 'call',
  not: {
    'a link says what the upstream said of itself, byte for byte': noUpstream,
    "the handshake offers the newest version and the client's own words, then says initialized": noUpstream,
    'an upstream may answer with 2024-11-05': noUpstream,
    'an upstream may answer with 2025-03-26': noUpstream,
    'an upstream may answer with 2025-06-18': noUpstream,
    'an upstream of an unknown version is refused, naming the backend': noUpstream,
    'an upstream that refuses initialize is backend_unavailable': noUpstream,
    'an upstream that is silent is given up after the time-out, and initialize is not cancelled': noUpstream,
    'an opening can be given up': noUpstream,
    'results pass byte for byte': 'results are values of JavaScript',
    'arguments pass byte for byte': 'arguments are values of JavaScript',
    'a ping of the upstream is answered and goes no further': 'handlers do not ping',
    'an id that comes back as a string is repaired': noUpstream,
    'texts that are no messages are skipped': noUpstream,
    'notifications go upstream as they are': noUpstream,
    'an upstream that dies in a call fails it once, naming the backend (SSE-10)': noUpstream
  }
})
