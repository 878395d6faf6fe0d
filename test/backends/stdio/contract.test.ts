import { createStdioBackend } from '../../../src/backends/stdio/backend.ts'
import { backendContract, notModern, speakModern } from '../../contract/backend.ts'
import { stdioUpstream } from '../../helpers/stdio-upstream.ts'

const onePipe = {
  'an answer gets through while many calls are open': 'a request on one pipe names no call when several are open'
}

const stdio = (scope: 'session' | 'shared', era: 'legacy' | 'modern' = 'legacy') =>
  ({
    dies: 'link',
    async make(server, { timeout, upstream: limit }) {
      const upstream = await stdioUpstream(era === 'modern' ? speakModern(server) : server)
      const backend = createStdioBackend({
        name: 'files',
        command: upstream.command,
        args: upstream.args,
        scope,
        era,
        timeout,
        limits: { upstream: limit }
      })
      return {
        backend,
        close: async () => {
          await backend.close()
          await upstream.close()
        }
      }
    }
  }) satisfies Parameters<typeof backendContract>[1]

backendContract('stdio, a child per link', { ...stdio('session'), not: onePipe })
backendContract('stdio, shared', {
  ...stdio('shared'),
  not: {
    ...onePipe,
    "the handshake offers the newest version and the client's own words, then says initialized":
      'a shared child is told no capabilities'
  }
})

backendContract('stdio, 2026-07-28', { ...stdio('session', 'modern'), modern: true, not: notModern })
