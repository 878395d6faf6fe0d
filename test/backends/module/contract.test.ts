import { setEnvironmentData } from 'node:worker_threads'
import type { Backend } from '../../../src/backends/backend.ts'
import { createModuleBackend } from '../../../src/backends/module/backend.ts'
import { createWorkerBackend } from '../../../src/backends/module/worker.ts'
import { readMessage } from '../../../src/protocol/message.ts'
import { type BackendContract, backendContract } from '../../contract/backend.ts'
import { contractHandler } from '../../helpers/contract-handler.ts'

const noUpstream = 'there is no upstream in between'

const not: BackendContract['not'] = {
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

/** The contract's client declares no elicitation. */
const asking = (backend: Backend): Backend => ({
  name: backend.name,
  identity: backend.identity,
  scope: backend.scope,
  open: options =>
    backend.open({ ...options, client: { ...options.client, capabilities: '{"elicitation":{},"roots":{}}' } }),
  tune: options => backend.tune(options),
  close: () => backend.close()
})

backendContract('module', {
  async make(server, { upstream }) {
    const handler = contractHandler(message => server.heard.push(message))
    const backend = await createModuleBackend({ name: 'mod', handlers: [handler], limits: { upstream } })
    server.outside = json => {
      const { method, params } = JSON.parse(json)
      handler.broadcast(method, params)
      return true
    }
    return { backend: asking(backend), close: () => backend.close() }
  },
  dies: 'call',
  not
})

let workers = 0

backendContract('module in a worker', {
  async make(server, { upstream }) {
    const name = `contract-${++workers}`
    setEnvironmentData('contract', name)
    const channel = new BroadcastChannel(name)
    channel.onmessage = ({ data }) => {
      server.heard.push(readMessage(Buffer.from(data as string), 64))
    }
    const path = new URL('../../fixtures/handlers/contract.ts', import.meta.url).pathname
    const backend = await createWorkerBackend({ name: 'mod', path, limits: { upstream } })
    server.outside = json => {
      channel.postMessage(json)
      return true
    }
    return {
      backend: asking(backend),
      async close() {
        await backend.close()
        channel.close()
      }
    }
  },
  dies: 'link',
  not
})
