/** The other end of a hand-over: calls that wait here, taken from instances that clients came back to. */
import { GatewayError } from '../errors.ts'
import type { Presence } from '../instances/presence.ts'
import type { Message } from '../protocol/message.ts'
import { line } from '../protocol/write.ts'
import { Inbox } from '../streams/inbox.ts'
import type { Reader } from '../streams/reader.ts'
import type { StreamLog } from '../streams/stream-log.ts'
import { facts } from '../telemetry/events.ts'
import type { Answer } from './answer.ts'
import { aliveMs } from './hand-over.ts'
import { type Back, backOf, type Handed, inboxOf, type There, told, written } from './letters.ts'
import type { IncomingPost } from './request.ts'
import type { Routes } from './route.ts'

export interface HandedOverOptions {
  readonly log: StreamLog
  readonly presence: Presence
  readonly routes: Routes
  readonly dispatch: { post(incoming: IncomingPost): Promise<Answer> }
}

export class HandedOver {
  readonly #options: HandedOverOptions
  readonly #inbox: Inbox
  /** What is done when the client of a call leaves. */
  readonly #calls = new Map<string, () => void>()

  constructor(options: HandedOverOptions) {
    this.#options = options
    this.#inbox = new Inbox(options.log, inboxOf(options.presence.id), data => this.#hear(data))
  }

  close(): void {
    this.#inbox.stop()
  }

  #hear(data: Buffer): void {
    try {
      const letter = JSON.parse(data.toString()) as There
      if (letter.kind === 'gone') this.#calls.get(letter.call)?.()
      else void this.#serve(letter)
    } catch (error) {
      facts.notice.publish({ level: 'warn', text: 'what another instance handed over cannot be read', error })
    }
  }

  /** Never rejects. */
  async #serve(handed: Handed): Promise<void> {
    const { log, presence, dispatch } = this.#options
    const { call, from } = handed
    const say = (back: Back): void => {
      // Whoever asked notices when this instance is gone, not when the log is: then it is told nothing more.
      log.post(backOf(call), written(back)).catch(ignore)
    }
    let gone: () => void = ignore
    this.#calls.set(call, () => gone())
    const watch = setInterval(() => {
      presence.alive(from).then(alive => alive || gone(), ignore)
    }, aliveMs).unref()
    try {
      const incoming = this.#incoming(handed, listener => {
        gone = listener
      })
      await tell(await dispatch.post(incoming), say)
    } catch (error) {
      say({ kind: 'error', error: told(error) })
    }
    clearInterval(watch)
    this.#calls.delete(call)
  }

  #incoming({ route, body, ...rest }: Handed, onGone: IncomingPost['onGone']): IncomingPost {
    const found = this.#options.routes.find(route)
    if (found === undefined) throw new GatewayError('path', `there is no route ${route}`)
    return { ...rest, route: found, body: Buffer.from(body, 'base64'), session: undefined, note: {}, onGone }
  }
}

/** Resolves once all was told. */
async function tell(answer: Answer, say: (back: Back) => void): Promise<void> {
  if (answer.kind === 'message') {
    say({ kind: 'message', text: line(answer.body as Message).toString(), status: answer.status ?? 200 })
  } else if (answer.kind === 'stream') {
    say({ kind: 'open' })
    await new Promise<void>(resolve => answer.run(new Told(say, resolve)))
  } else {
    throw new GatewayError('internal', 'a request was not answered')
  }
}

/** The reader of a stream whose client is at another instance. */
class Told implements Reader {
  readonly #say: (back: Back) => void
  readonly #listeners: (() => void)[] = []
  gone = false

  constructor(say: (back: Back) => void, over: () => void) {
    this.#say = say
    this.#listeners.push(over)
  }

  push(_id: string | undefined, data: Uint8Array): undefined {
    if (!this.gone) this.#say({ kind: 'event', text: Buffer.from(data).toString() })
  }

  prime(): void {}

  comment(): void {}

  retry(): void {}

  end(): void {
    if (this.gone) return
    this.gone = true
    this.#say({ kind: 'end' })
    for (const listener of this.#listeners) listener()
  }

  onGone(listener: () => void): void {
    this.#listeners.push(listener)
  }
}

const ignore = (): void => {}
