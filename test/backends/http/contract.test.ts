import { HttpBackend } from '../../../src/backends/http/backend.ts'
import { backendContract, notModern, speakModern } from '../../contract/backend.ts'
import { HttpUpstream, type HttpUpstreamOptions } from '../../helpers/http-upstream.ts'

const http = (options: HttpUpstreamOptions, era: 'legacy' | 'modern' = 'legacy') =>
  ({
    dies: 'call',
    async make(server, { timeout, upstream: limit }) {
      const upstream = await HttpUpstream.start(era === 'modern' ? speakModern(server) : server, options)
      const backend = new HttpBackend({ name: 'docs', url: upstream.url, era, timeout, limits: { upstream: limit } })
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

const notModernHttp = {
  ...notModern,
  'cancel settles a waiting read, tells the upstream, and nothing comes after it (CAN-01)': 'the response is closed'
}

for (const json of [true, false]) {
  backendContract(`http, 2026-07-28, ${json ? 'JSON' : 'event streams'}`, {
    ...http({ json, sessions: false }, 'modern'),
    modern: true,
    not: notModernHttp
  })
}
