import { createSseBackend } from '../../../src/backends/sse/backend.ts'
import { backendContract } from '../../contract/backend.ts'
import { SseUpstream } from '../../helpers/sse-upstream.ts'

backendContract('sse', {
  dies: 'link',
  not: {
    'an answer gets through while many calls are open': 'a request on one pipe names no call when several are open'
  },
  async make(server, { timeout, upstream: limit }) {
    const upstream = await SseUpstream.start(server)
    const backend = createSseBackend({ name: 'old', url: upstream.url, timeout, limits: { upstream: limit } })
    return {
      backend,
      close: async () => {
        await backend.close()
        await upstream.close()
      }
    }
  }
})
