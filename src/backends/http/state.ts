/** What a link is made from, and what another instance makes it from again. */
import { isVersion } from '../../protocol/version.ts'

export interface LinkFacts {
  /** `Mcp-Session-Id` of the upstream. */
  readonly session?: string | undefined
  readonly version: string
  /** JSON text of the InitializeResult. */
  readonly result: string
}

/** Undefined for what no link wrote. */
export function readState(state: string): LinkFacts | undefined {
  try {
    const value = JSON.parse(state)
    return isVersion(value.version) && isObject(JSON.parse(value.result)) ? value : undefined
  } catch {
    return undefined
  }
}

/** `capabilities` of an InitializeResult; empty when a sloppy upstream left them out. */
export function capabilitiesOf(result: string): Record<string, unknown> {
  const { capabilities } = JSON.parse(result)
  return isObject(capabilities) ? capabilities : {}
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
