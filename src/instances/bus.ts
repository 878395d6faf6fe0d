/**
 * PORT. Signals between instances, at most once: a listener may miss one. Never the source of truth, and nothing whose loss
 * would be a wait: whatever must not be missed is in the stream log or the session store, and the bus only says "look".
 */
export type Topic = string

export type Unsubscribe = () => Promise<void>

export interface Bus {
  publish(topic: Topic, payload: string): Promise<void>
  /** Resolves once live. Listeners of one topic hear payloads of one publisher in order; a throwing listener harms no other. */
  subscribe(topic: Topic, listener: (payload: string) => void): Promise<Unsubscribe>
  close(): Promise<void>
}
