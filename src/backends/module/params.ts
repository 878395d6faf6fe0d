import { ProtocolError } from '../../handlers/errors.ts'

export type Params = Readonly<Record<string, unknown>>

/** A member that must be a string, else -32602. */
export function stringOf(params: Params, key: string): string {
  const value = params[key]
  if (typeof value !== 'string') throw new ProtocolError(-32602, `"params.${key}" must be a string.`)
  return value
}

/** `params.arguments`; absent is empty, what is no object is -32602. */
export function argumentsOf(params: Params): Params {
  const value = params.arguments ?? {}
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new ProtocolError(-32602, '"params.arguments" must be an object.')
  }
  return value as Params
}
