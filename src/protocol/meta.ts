/** Members of `params._meta` by their kind. */
import { type Message, stringOf } from './message.ts'

/** Value of `params._meta.<key>` when it is a string. */
export const stringMeta = (message: Message, key: string): string | undefined =>
  stringOf(message.source, message.scanned.meta, key)

/** Whether a JSON text is an object. */
export const isObjectText = (json: string | undefined): boolean => json?.startsWith('{') === true
