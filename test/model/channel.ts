/** The client's side of a session's channel: whether every broadcast was seen once, in order, over all its connections. */
import type { RawResponse } from '../helpers/raw-client.ts'

interface Connection {
  readonly response: RawResponse
  /** Events that count; what came later was asked for again, or went with the connection. */
  limit: number
  /**
   * How many broadcasts there were when a fresh GET followed a connection that was cut, or that the client did not read
   * (Node throws away what it holds of a response that is cut): so many may have gone with that one.
   */
  readonly mayMiss: number
}

interface Place {
  readonly connection: number
  readonly event: number
  readonly id: string
}

export class Channel {
  /** Numbers that were broadcast since the session began. */
  readonly sent: number[] = []
  readonly #connections: Connection[] = []
  #cut = false
  paused = false

  get open(): boolean {
    return this.#connections.length > 0 && !this.#cut
  }

  /** Every event with an id that counts, in order. */
  get places(): readonly Place[] {
    return this.#connections.flatMap(({ response, limit }, connection) =>
      response.events.all
        .slice(0, limit)
        .flatMap(({ id }, event) => (id === undefined ? [] : [{ connection, event, id }]))
    )
  }

  /** What was seen up to now counts, and nothing that the older connections still bring. */
  rollBack(place: Place): void {
    this.#connections.forEach((connection, i) => {
      const most = i < place.connection ? connection.limit : i === place.connection ? place.event + 1 : 0
      connection.limit = Math.min(connection.limit, most)
    })
    for (const { response } of this.#connections) if (this.#cut) response.destroy()
  }

  /** `fresh`: the GET had no `Last-Event-ID`. */
  opened(response: RawResponse, fresh: boolean): void {
    this.#connections.push({
      response,
      limit: Number.POSITIVE_INFINITY,
      mayMiss: fresh && (this.#cut || this.paused) ? this.sent.length : 0
    })
    this.#cut = false
    this.paused = false
  }

  cut(): void {
    const last = this.#connections.at(-1)
    if (last === undefined || this.#cut) return
    last.limit = Math.min(last.limit, last.response.events.all.length)
    last.response.destroy()
    this.#cut = true
    this.paused = false
  }

  pause(): void {
    this.#connections.at(-1)?.response.pause()
    this.paused = true
  }

  unpause(): void {
    for (const { response } of this.#connections) response.resume()
    this.paused = false
  }

  /** Whether the open connection brought a broadcast. */
  has(n: number): boolean {
    return this.#connections.at(-1)?.response.events.messages.some(({ params }) => params?.n === n) === true
  }

  get ended(): boolean {
    return this.#connections.every(({ response }) => response.events.ended)
  }

  /** The session is over. */
  close(): void {
    for (const { response } of this.#connections) response.destroy()
  }

  /** What is wrong with what was seen so far. `complete`: all of what was sent is there by now. */
  verdict(complete: boolean): string | undefined {
    let next = 0
    let mayMiss = 0
    for (const { response, limit, mayMiss: here } of this.#connections) {
      mayMiss = Math.max(mayMiss, here)
      for (const { message } of response.events.all.slice(0, limit)) {
        if (message === undefined) continue
        if (message.method !== 'notifications/x') {
          // What was asked in a call that is over is taken back here.
          if (/list_changed$|^notifications\/cancelled$/.test(message.method)) continue
          return `the channel got ${JSON.stringify(message).slice(0, 300)}`
        }
        const at = this.sent.indexOf(message.params.n)
        if (at === -1) return `the channel got ${message.params.n}, which was not sent to it`
        if (at < next || (at > next && at > mayMiss))
          return `the channel got ${message.params.n} where ${this.sent[next]} was next (may miss ${mayMiss})`
        next = at + 1
      }
    }
    if (complete && next < this.sent.length) return `the channel got nothing after ${this.sent[next - 1]}`
    return undefined
  }
}
