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
    const requests = readInputRequired(response).requests.map(({ message }) => message('0'))
    const refused = requests.filter(request => refusal(request, capabilities) !== undefined)
    if (refused.length === 0) return undefined
    const why = refusal(refused[0]!, capabilities)!.text
    const data = { requiredCapabilities: together(refused.map(required)) }
    return makeError(response.id, missingCapability, `the backend asks for what was not declared: ${why}`, data)
  } catch {
    const text = 'the backend answered with a wish for input that cannot be read'
    return makeError(response.id, -32603, text, { reason: 'backend_invalid' })
  }
}

type Capabilities = Readonly<Record<string, object>>

/** All that is missing is told at once, so that a client does not find out one after the other. */
const together = (all: readonly Capabilities[]): Capabilities =>
  all.reduce<Record<string, object>>((sum, one) => {
    for (const [name, parts] of Object.entries(one)) sum[name] = { ...sum[name], ...parts }
    return sum
  }, {})

function required(request: Message): Capabilities {
  switch (request.method) {
    case 'sampling/createMessage':
      return { sampling: textParam(request, 'tools') === undefined ? {} : { tools: {} } }
    case 'elicitation/create':
      return { elicitation: { [stringParam(request, 'mode') ?? 'form']: {} } }
    default:
      return { roots: {} }
  }
}
