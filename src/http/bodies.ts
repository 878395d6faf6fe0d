/** The memory that request bodies take all together: what each may have is not what all may have at once (H7). */
import type { preParsingHookHandler } from 'fastify'
import { GatewayError } from '../errors.ts'

/** So many bodies of `server.limits.body` may be in memory at once, or more that are smaller. */
const maxBodies = 64

/**
 * Counts what was announced, and of bodies without a length what came, until their response is over. `bodyLimit` in bytes: what
 * announces more is refused elsewhere, unread.
 */
export function boundBodies(bodyLimit: number): preParsingHookHandler {
  const most = maxBodies * bodyLimit
  let all = 0
  return function bound(request, reply, payload, done) {
    const announced = request.headers['content-length']
    const length = announced === undefined ? 0 : Number(announced)
    if (length > bodyLimit) return done(null, payload)
    if (all + length > most) return done(tooMuch())
    let own = length
    all += length
    reply.raw.once('close', () => {
      all -= own
      own = 0
    })
    if (announced === undefined) {
      payload.on('data', (chunk: Buffer) => {
        own += chunk.length
        all += chunk.length
        // Too late for words: the body is being read.
        if (all > most) request.raw.destroy()
      })
    }
    done(null, payload)
  }
}

const tooMuch = (): GatewayError =>
  new GatewayError('overloaded', 'too many large requests are under way', {
    headers: { 'retry-after': '1', connection: 'close' }
  })
