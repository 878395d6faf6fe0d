/** Messages that the gateway itself says. Ids are JSON text; results and params are values. */
import type { GatewayError } from '../errors.ts'
import { type Message, readMessage } from './message.ts'

/** Own messages are built from values of ours: their depth was bounded when those came in. */
const anyDepth = 1_000

const message = (text: string): Message => readMessage(Buffer.from(text), anyDepth)

const member = (name: string, value: unknown): string =>
  value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`

export const makeRequest = (id: string, method: string, params?: unknown): Message =>
  message(`{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${member('params', params)}}`)

export const makeNotification = (method: string, params?: unknown): Message =>
  message(`{"jsonrpc":"2.0","method":${JSON.stringify(method)}${member('params', params)}}`)

export const makeResult = (id: string, result: unknown): Message =>
  message(`{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`)

/** The id is left out when it is not known: no schema allows `null`. */
export const makeError = (id: string | undefined, code: number, text: string, data?: unknown): Message =>
  message(
    `{"jsonrpc":"2.0"${id === undefined ? '' : `,"id":${id}`},"error":{"code":${code},"message":${JSON.stringify(text)}${member('data', data)}}}`
  )

/** The JSON-RPC error that a GatewayError becomes; `id` stands in where the error knows none. */
export const errorMessage = (error: GatewayError, id?: string): Message =>
  makeError(error.id ?? id, error.rpcCode, error.message, error.data)
