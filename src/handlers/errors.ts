/**
 * The errors that mean something. They are told by name: handlers may come with a copy of this package of their own.
 */
import type { ContentBlock } from './content.ts'

/**
 * A failure that the model is told: the call's result gets `isError: true` with this message, or with `content`. Unlike
 * other errors it is not logged: it is an answer.
 */
export class ToolError extends Error {
  readonly content: readonly (ContentBlock | string)[] | undefined
  constructor(message: string, content?: readonly (ContentBlock | string)[]) {
    super(message)
    this.name = 'ToolError'
    this.content = content
  }
}

/** A JSON-RPC error in place of a result. -32602 bad params, -32603 internal, -32002 resource not found (`data.uri`). */
export class ProtocolError extends Error {
  readonly code: number
  readonly data: unknown
  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.name = 'ProtocolError'
    this.code = code
    this.data = data
  }
}

/** The client answered a request of the handler (elicit, sample, roots) with an error. */
export class ClientError extends Error {
  readonly code: number
  readonly data: unknown
  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.name = 'ClientError'
    this.code = code
    this.data = data
  }
}

/**
 * The call needs something of the client that it did not declare, such as `{ sampling: {} }`; asking throws it too. A modern
 * client gets error -32021 with `data.requiredCapabilities` (2026-07-28 basic/index, "Error Codes"); for others there is no such
 * code: to them it is a tool's result with `isError`, or error -32603.
 */
export class MissingCapabilityError extends Error {
  readonly requiredCapabilities: Readonly<Record<string, object>>
  constructor(requiredCapabilities: Readonly<Record<string, object>>, message?: string) {
    super(message ?? `Client does not support ${Object.keys(requiredCapabilities).join(', ')}.`)
    this.name = 'MissingCapabilityError'
    this.requiredCapabilities = requiredCapabilities
  }
}

export const isToolError = (error: unknown): error is ToolError => error instanceof Error && error.name === 'ToolError'

export const isProtocolError = (error: unknown): error is ProtocolError =>
  error instanceof Error && error.name === 'ProtocolError'

export const isMissingCapability = (error: unknown): error is MissingCapabilityError =>
  error instanceof Error && error.name === 'MissingCapabilityError'
