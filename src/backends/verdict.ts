/** What the answer to `server/discover` says of an upstream's era (2026-07-28 basic/versioning; decisions: "Which era a backend has"). */
import { GatewayError } from '../errors.ts'
import { newestSpoken, readDiscovered } from '../protocol/discovered.ts'
import { isError, type Message, textOf } from '../protocol/message.ts'
import { isVersion } from '../protocol/version.ts'
import { legacyVerdict, type Verdict } from './era.ts'

/** Codes that modern servers alone use. */
const headerMismatch = -32020
const missingCapability = -32021
const unsupportedVersion = -32022

/** `again`: it lists a version that is spoken here, and is to be asked once more. Throws where it is modern and of no use. */
export function verdictOf(response: Message, backend: string): Verdict | 'again' {
  const { source, scanned } = response
  const refuse = (text: string): never => {
    throw new GatewayError('backend_invalid', `backend "${backend}": ${text}`, { backend })
  }
  if (!isError(response)) {
    const discovered = readDiscovered(textOf(source, scanned.top, 'result')!)
    return discovered === undefined ? legacyVerdict : { era: 'modern', discovered }
  }
  const error = JSON.parse(textOf(source, scanned.top, 'error')!) as Refusal | null
  if (error?.code === headerMismatch || error?.code === missingCapability) {
    return refuse(`it refused server/discover with the error ${error.code}`)
  }
  if (error?.code !== unsupportedVersion) return legacyVerdict
  const supported = Array.isArray(error.data?.supported) ? error.data.supported : []
  if (newestSpoken(supported) !== undefined) return 'again'
  if (supported.some(one => typeof one === 'string' && isVersion(one))) return legacyVerdict
  return refuse('it speaks no protocol version that is known here')
}

interface Refusal {
  readonly code?: unknown
  readonly data?: { readonly supported?: unknown } | null
}
