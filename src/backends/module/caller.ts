/** Who sends a request. Modern requests say it themselves (2026-07-28 basic/index, "_meta"), each for its own. */
import type { ClientFacts } from '../../handlers/context.ts'
import { type Message, textMeta } from '../../protocol/message.ts'
import { stringMeta } from '../../protocol/meta.ts'
import { capabilitiesKey, clientKey, versionKey } from '../../protocol/modern.ts'
import { isModern } from '../../protocol/version.ts'
import { Inputs } from './inputs.ts'

/** Of one request. Read when it is asked for: most handlers do not. */
export class Caller {
  readonly #request: Message
  readonly #session: ClientFacts
  #client: ClientFacts | undefined
  #inputs: Inputs | undefined

  /** `session`: the client that the link was opened for. */
  constructor(request: Message, session: ClientFacts) {
    this.#request = request
    this.#session = session
  }

  get client(): ClientFacts {
    this.#client ??= clientOf(this.#request) ?? this.#session
    return this.#client
  }

  /** What it is asked. */
  get inputs(): Inputs {
    this.#inputs ??= new Inputs(undefined)
    return this.#inputs
  }

  /** Takes `params.inputResponses`. Throws ProtocolError -32602. */
  bring(responses: unknown): void {
    if (responses !== undefined && this.client.era === 'modern') this.#inputs = new Inputs(responses)
  }
}

function clientOf(request: Message): ClientFacts | undefined {
  const version = stringMeta(request, versionKey)
  if (version === undefined || !isModern(version)) return undefined
  return {
    era: 'modern',
    version,
    capabilities: membersOf(textMeta(request, capabilitiesKey)),
    info: membersOf(textMeta(request, clientKey))
  }
}

/** None where it is no JSON object. */
export function membersOf(text = '{}'): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
