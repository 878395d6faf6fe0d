/** What is there, and has no place for one more: no failure towards those who have one. */
import { GatewayError } from '../errors.ts'

export const isBusy = (error: unknown): boolean =>
  error instanceof GatewayError && (error.code === 'overloaded' || error.data.maxProcesses !== undefined)
