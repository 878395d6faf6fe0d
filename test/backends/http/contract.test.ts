import { HttpBackend } from '../../../src/backends/http/backend.ts'
import { backendContract } from '../../contract/backend.ts'
import { HttpUpstream, type HttpUpstreamOptions } from '../../helpers/http-upstream.ts'

const http = (options: HttpUpstreamOptions) =>
  ({
    dies: 'call',
    async make(server, { timeout, upstream: limit }) {
      const upstream = await HttpUpstream.start(server, options)
      const backend = new HttpBackend({ name: 'docs', url: upstream.url, timeout, limits: { upstream: limit } })
      return {
        backend,
        close: async () => {
          await backend.close()
          await upstream.close()
        }
      }
    }
  }) satisfies Parameters<typeof backendContract>[1]

backendContract('http, JSON', http({}))
backendContract('http, event streams', http({ json: false }))
backendContract('http, event streams with ids', {
  ...http({ json: false, events: true, priming: true }),
  not: { 'an upstream that dies in a call fails it once, naming the backend (SSE-10)': 'the stream is resumed' }
})
