/**
 * Whether what a modern backend wants to know can be passed on to a modern client: read, and declared by its request
 * (2026-07-28 basic/patterns/mrtr, "Server Requirements"; decisions: "`input_required` of a modern backend").
 */
import { refusal } from '../gateway/refusal.ts'
import { makeError } from '../protocol/make.ts'
import { type Message, stringParam, textParam } from '../protocol/message.ts'
import { readInputRequired } from './input-required.ts'

const missingCapability = -32021

/** The error in place of the result; undefined when there is nothing wrong with it. `capabilities`: JSON text of the request's own. */
export function wrongInputs(response: Message, capabilities: string): Message | undefined {
  try {
    for (const { message } of readInputRequired(response).requests) {
      const request = message('0')
      const refused = refusal(request, capabilities)
      if (refused === undefined) continue
      const data = { requiredCapabilities: required(request) }
      return makeError(
        response.id,
        missingCapability,
        `the backend asks for what was not declared: ${refused.text}`,
        data
      )
    }
    return undefined
  } catch {
    const text = 'the backend answered with a wish for input that cannot be read'
    return makeError(response.id, -32603, text, { reason: 'backend_invalid' })
  }
}

function required(request: Message): Record<string, unknown> {
  switch (request.method) {
    case 'sampling/createMessage':
      return { sampling: textParam(request, 'tools') === undefined ? {} : { tools: {} } }
    case 'elicitation/create':
      return { elicitation: { [stringParam(request, 'mode') ?? 'form']: {} } }
    default:
      return { roots: {} }
  }
}
