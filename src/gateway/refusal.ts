/** Which requests of an upstream may be put to a client: what it declared, and no more (basic/lifecycle, "Capability Negotiation"; R110b, R112). */
import type { Refusal } from '../exchanges/running.ts'
import { type Message, stringParam, textParam } from '../protocol/message.ts'

/** Undefined when the request may be sent. `capabilities` is JSON text. Methods outside the core are not judged. */
export function refusal(request: Message, capabilities: string): Refusal | undefined {
  const declared = JSON.parse(capabilities) as Record<string, unknown>
  switch (request.method) {
    case 'roots/list':
      return isObject(declared.roots) ? undefined : missing('roots')
    case 'sampling/createMessage':
      return sampling(request, declared.sampling)
    case 'elicitation/create':
      return elicitation(request, declared.elicitation)
    default:
      return undefined
  }
}

function sampling(request: Message, declared: unknown): Refusal | undefined {
  if (!isObject(declared)) return missing('sampling')
  const needsTools = textParam(request, 'tools') !== undefined || textParam(request, 'toolChoice') !== undefined
  if (needsTools && !isObject(declared.tools))
    return { code: -32602, text: 'the client does not support tools in sampling' }
  return undefined
}

/** `{}` means form mode alone (client/elicitation, "Capabilities"). */
function elicitation(request: Message, declared: unknown): Refusal | undefined {
  if (!isObject(declared)) return missing('elicitation')
  const mode = stringParam(request, 'mode') ?? 'form'
  const supported =
    mode === 'form'
      ? isObject(declared.form) || !isObject(declared.url)
      : Object.hasOwn(declared, mode) && isObject(declared[mode])
  return supported ? undefined : { code: -32602, text: `the client does not support elicitation in ${mode} mode` }
}

const missing = (capability: string): Refusal => ({ code: -32601, text: `the client does not support ${capability}` })

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
