/** One instance alone, or several in one process that are given the same set and the same bus. */
import { randomUUID } from 'node:crypto'
import type { Bus, Topic, Unsubscribe } from './bus.ts'
import type { InstanceId, Presence } from './presence.ts'

export class MemoryPresence implements Presence {
  readonly id: InstanceId = randomUUID()
  readonly #running: Set<InstanceId>

  constructor(running: Set<InstanceId> = new Set()) {
    this.#running = running
    running.add(this.id)
  }

  async alive(id: InstanceId): Promise<boolean> {
    return this.#running.has(id)
  }

  async close(): Promise<void> {
    this.#running.delete(this.id)
  }
}

interface Subscription {
  readonly listener: (payload: string) => void
}

/** Listeners have heard a payload when its `publish` resolves, unless it was published by a listener: then a little later. */
export class MemoryBus implements Bus {
  readonly #topics = new Map<Topic, Set<Subscription>>()
  readonly #waiting: [Topic, string][] = []
  #delivering = false

  async publish(topic: Topic, payload: string): Promise<void> {
    this.#waiting.push([topic, payload])
    // A listener that publishes: the payload it hears first reaches everybody before the one it makes.
    if (this.#delivering) return
    this.#delivering = true
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) this.#deliver(...next)
    this.#delivering = false
  }

  async subscribe(topic: Topic, listener: (payload: string) => void): Promise<Unsubscribe> {
    const subscription: Subscription = { listener }
    const subscriptions = this.#topics.get(topic) ?? new Set()
    this.#topics.set(topic, subscriptions.add(subscription))
    return async () => {
      subscriptions.delete(subscription)
      if (subscriptions.size === 0 && this.#topics.get(topic) === subscriptions) this.#topics.delete(topic)
    }
  }

  async close(): Promise<void> {
    for (const subscriptions of this.#topics.values()) subscriptions.clear()
    this.#topics.clear()
  }

  #deliver(topic: Topic, payload: string): void {
    for (const subscription of this.#topics.get(topic) ?? []) {
      try {
        subscription.listener(payload)
      } catch (error) {
        process.emitWarning(error as Error)
      }
    }
  }
}
