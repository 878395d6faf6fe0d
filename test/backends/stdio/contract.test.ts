import { createStdioBackend } from '../../../src/backends/stdio/backend.ts'
import { backendContract } from '../../contract/backend.ts'
import { stdioUpstream } from '../../helpers/stdio-upstream.ts'

const onePipe = {
  'an answer gets through while many calls are open': 'a request on one pipe names no call when several are open'
}

const stdio = (scope: 'session' | 'shared') =>
  ({
    dies: 'link',
    async make(server, { timeout, upstream: limit }) {
      const upstream = await stdioUpstream(server)
      const backend = createStdioBackend({
        name: 'files',
        command: upstream.command,
        args: upstream.args,
        scope,
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
