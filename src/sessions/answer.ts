/** What a store answers; that it does not is told as what it is: nothing was done, try again (503). */
import { GatewayError } from '../errors.ts'

/** Rejects with GatewayError `store`. */
export async function answer<T>(asked: Promise<T> | T): Promise<T> {
  try {
    return await asked
  } catch (cause) {
    throw new GatewayError('store', 'the session store does not answer', { cause, headers: { 'retry-after': '5' } })
  }
}
