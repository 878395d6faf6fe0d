import { setTimeout as wait } from 'node:timers/promises'
import { defineHandler, type Handler, ProtocolError } from '../../src/handlers/define.ts'
import { makeNotification, makeRequest, makeResult } from '../../src/protocol/make.ts'
import type { Message } from '../../src/protocol/message.ts'
import { lateText } from './scripted.ts'

/** The tools of the contract as handlers. What the server of the contract hears is what reaches them. */
export function contractHandler(hear: (message: Message) => void): Handler {
  let calls = 0
  const heard = (): number => {
    const id = ++calls
    hear(makeRequest(String(id), 'tools/call'))
    return id
  }
  const cancelled = (id: number, signal: AbortSignal): void => {
    signal.addEventListener('abort', () => {
      const reason = (signal.reason as Error).message
      hear(makeNotification('notifications/cancelled', { requestId: id, reason }))
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
          hear(makeResult('1', answer))
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
