/** PORT. Which instances of the gateway run. */

/** Unique to one run of one instance; never used twice. */
export type InstanceId = string

export interface Presence {
  readonly id: InstanceId
  /** Whether that instance runs. One that was closed, died or never existed does not. */
  alive(id: InstanceId): Promise<boolean>
  close(): Promise<void>
}
