/** Who a call belongs to when it outlives its exchange: its task. */
export interface Follower {
  /** It outlives its exchange from now on. Throws ProtocolError when it may not. */
  becomeTask(): boolean
  /** What the handler told with its progress. */
  said(message: string): void
  /** Nobody waits any more for the answer to this request of the handler. */
  answered(id: string): void
  /** The handler is done without waiting for the answer. */
  withdrawn(id: string): void
}
