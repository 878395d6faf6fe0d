/** Runs in a thread of its own: the same backend as in the gateway's, with messages in place of calls. */
import { parentPort, workerData } from 'node:worker_threads'
import { type GatewayError, toGatewayError } from '../../errors.ts'
import { type Message, readMessage } from '../../protocol/message.ts'
import { bytes } from '../../protocol/write.ts'
import { facts, type NoticeFact } from '../../telemetry/events.ts'
import type { Exchange, Link } from '../backend.ts'
import { faultOfHandler } from '../scope.ts'
import { createModuleBackend } from './backend.ts'
import { Marker } from './marker.ts'
import type { FromThread, ThreadData, ToThread } from './worker-messages.ts'

/** The gateway read the message before, within its own bound. */
const anyDepth = 1_000

const data = workerData as ThreadData
const port = parentPort!
const tell = (message: FromThread): void => port.postMessage(message)
const textOf = (message: Message): string => bytes(message).toString()
const messageOf = (text: string): Message => readMessage(Buffer.from(text), anyDepth)

facts.notice.subscribe(fact => tell({ kind: 'notice', fact: portable(fact) }))
facts.drop.subscribe(fact => tell({ kind: 'drop', fact }))

/** Errors of classes of their own do not travel whole. */
function portable({ error, ...fact }: NoticeFact): NoticeFact {
  if (error === undefined) return fact
  if (!(error instanceof Error)) return { ...fact, error: String(error) }
  const plain = new Error(error.message)
  return { ...fact, error: Object.assign(plain, { stack: error.stack }) }
}

// A rejection that nobody handles is thrown by Node, and comes here too.
process.on('uncaughtException', error => {
  if (faultOfHandler(error)) return
  facts.notice.publish({
    level: 'error',
    text: 'an error that nobody caught ends the thread',
    backend: data.name,
    error
  })
  process.exit(1)
})

/** An opening in this thread is over at once. */
const never = new AbortController().signal

const links = new Map<number, Link>()
const exchanges = new Map<number, Exchange>()
/** Calls whose reader is behind. */
const paused = new Map<number, PromiseWithResolvers<void>>()

async function answer(call: number, exchange: Exchange): Promise<void> {
  exchanges.set(call, exchange)
  try {
    for await (const message of exchange) {
      tell({ kind: 'message', call, text: textOf(message) })
      await paused.get(call)?.promise
    }
  } catch (error) {
    const { code, message }: GatewayError = toGatewayError(error)
    tell({ kind: 'failed', call, code, text: message })
  }
  exchanges.delete(call)
  paused.delete(call)
}

const resume = (call: number): void => {
  paused.get(call)?.resolve()
  paused.delete(call)
}

const backend = await createModuleBackend({ ...data, marker: new Marker(data.marker) }).catch((error: unknown) => {
  tell({ kind: 'refused', text: error instanceof Error ? error.message : String(error) })
  return undefined
})

port.on('message', async (message: ToThread) => {
  switch (message.kind) {
    case 'open': {
      const { link, principal, client } = message
      const opened = await backend!.open({
        principal,
        client,
        signal: never,
        receive: received => tell({ kind: 'received', link, text: textOf(received) }),
        ended() {}
      })
      links.set(link, opened)
      tell({ kind: 'opened', link, server: opened.server })
      return
    }
    case 'close':
      void links.get(message.link)?.close()
      links.delete(message.link)
      return
    case 'exchange': {
      const { link, call, principal, text } = message
      const closeStream = (): void => tell({ kind: 'closeStream', call })
      const exchange = links.get(link)?.exchange(messageOf(text), { principal, closeStream })
      if (exchange !== undefined) void answer(call, exchange)
      return
    }
    case 'send':
      links
        .get(message.link)
        ?.send(messageOf(message.text))
        .catch(() => {})
      return
    case 'cancel':
      exchanges.get(message.call)?.cancel(message.reason)
      resume(message.call)
      return
    case 'pause':
      if (exchanges.has(message.call)) paused.set(message.call, Promise.withResolvers())
      return
    case 'resume':
      resume(message.call)
      return
    case 'ping':
      tell({ kind: 'pong' })
      return
    case 'end':
      await backend?.close()
      process.exit(0)
  }
})

if (backend !== undefined) tell({ kind: 'ready' })
