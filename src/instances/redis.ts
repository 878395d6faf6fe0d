/** Instances that share a Redis: who runs, by a heartbeat on the server's clock, and signals between them. */
import { randomUUID } from 'node:crypto'
import type { Redis } from '../redis/store.ts'
import type { Bus, Topic, Unsubscribe } from './bus.ts'
import type { InstanceId, Presence } from './presence.ts'

/** How often an instance says that it runs, and how long that counts (milliseconds). */
const beatMs = 1_000
const countsMs = 3_000
/** Beats in which those that run have said so, after the server was away or forgot. */
const doubtBeats = 3

export class RedisPresence implements Presence {
  readonly id: InstanceId = randomUUID()
  readonly #redis: Redis
  readonly #timer: NodeJS.Timeout
  #beating: Promise<void>
  /** Beats until anybody is taken for dead. */
  #doubt = 0
  #began = false
  #closed = false

  private constructor(redis: Redis) {
    this.#redis = redis
    this.#beating = this.#beat()
    this.#timer = setInterval(() => {
      this.#beating = this.#beat()
    }, beatMs)
    this.#timer.unref()
  }

  /** Resolves once others see it, or cannot be told. Whoever made `redis` closes it. */
  static async start(redis: Redis): Promise<RedisPresence> {
    const presence = new RedisPresence(redis)
    await presence.#beating
    return presence
  }

  async alive(id: InstanceId): Promise<boolean> {
    if (id === this.id) return !this.#closed
    const there = (await this.#redis.send('EXISTS', this.#key(id))) === 1
    return there || this.#doubt > 0
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearInterval(this.#timer)
    await this.#beating
    // It is gone a little later when this fails.
    await this.#redis.send('DEL', this.#key(this.id)).catch(() => {})
  }

  #key(id: InstanceId): string {
    return this.#redis.key(`alive:${id}`)
  }

  /** Never rejects. */
  async #beat(): Promise<void> {
    try {
      const before = await this.#redis.send('SET', this.#key(this.id), '1', 'PX', `${countsMs}`, 'GET')
      if (before === null && this.#began) this.#doubt = doubtBeats
      else if (this.#doubt > 0) this.#doubt--
      this.#began = true
    } catch {
      this.#doubt = doubtBeats
    }
  }
}

/** Payloads are sealed: whoever can write to the server cannot speak for an instance. */
export class RedisBus implements Bus {
  readonly #redis: Redis
  readonly #subscriptions = new Set<Unsubscribe>()

  /** Whoever made `redis` closes it. */
  constructor(redis: Redis) {
    this.#redis = redis
  }

  async publish(topic: Topic, payload: string): Promise<void> {
    await this.#redis.send('PUBLISH', this.#channel(topic), this.#redis.sealer.seal(`bus ${topic}`, payload))
  }

  async subscribe(topic: Topic, listener: (payload: string) => void): Promise<Unsubscribe> {
    const heard = (text: string): void => {
      const payload = this.#redis.sealer.open(`bus ${topic}`, text, maxPayload)
      if (typeof payload !== 'string') return
      try {
        listener(payload)
      } catch (error) {
        process.emitWarning(error as Error)
      }
    }
    const leave = await this.#redis.signals.subscribe(this.#channel(topic), heard)
    const unsubscribe = async (): Promise<void> => {
      if (this.#subscriptions.delete(unsubscribe)) await leave()
    }
    this.#subscriptions.add(unsubscribe)
    return unsubscribe
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#subscriptions].map(unsubscribe => unsubscribe()))
  }

  #channel(topic: Topic): string {
    return this.#redis.key(`bus:${topic}`)
  }
}

/** Characters of a sealed payload; longer ones are not looked at. */
const maxPayload = 1_048_576
