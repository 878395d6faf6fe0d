/** Which era a request belongs to: decided once, from its body and its version header (2026-07-28 basic/versioning, "Backward Compatibility"). */
import { GatewayError } from '../errors.ts'
import { type Batch, isBatch, type Message, stringParam, textMeta } from './message.ts'
import { isObjectText, stringMeta } from './meta.ts'
import { capabilitiesKey, versionKey } from './modern.ts'
import { assumedVersion, type Era, isModern, isVersion } from './version.ts'

/**
 * `header`: of `MCP-Protocol-Version`, undefined when absent. `versions`: those of the route, oldest first. Throws the
 * GatewayError of a request that neither era has, or whose modern `_meta` and version header are not in order.
 */
export function classify(body: Message | Batch, header: string | undefined, versions: readonly string[]): Era {
  if (!isModernBody(body, header)) {
    if (versions.some(isVersion)) return 'legacy'
    const requested = header ?? askedOf(body) ?? assumedVersion
    throw unsupported(requested, versions, isBatch(body) ? undefined : body.id)
  }
  if (!versions.some(isModern)) {
    const id = isBatch(body) ? undefined : body.id
    // No modern code: a client that sees one does not fall back.
    throw new GatewayError('invalid', `this endpoint serves ${versions.join(', ')}`, { id })
  }
  if (isBatch(body)) throw new GatewayError('invalid', 'the body must be one request or notification')
  if (body.kind === 'response') throw new GatewayError('invalid', 'a client sends no responses in this revision')
  if (body.kind === 'request') checkRequest(body, header, versions)
  return 'modern'
}

/** Whether a GET or DELETE means something: in the modern era there is neither. */
export const isPostAlone = (header: string | undefined, versions: readonly string[]): boolean =>
  (header !== undefined && isModern(header)) || !versions.some(isVersion)

function isModernBody(body: Message | Batch, header: string | undefined): boolean {
  const named = header !== undefined && isModern(header)
  if (isBatch(body)) return named || body.elements.some(element => !(element instanceof GatewayError) && has(element))
  return has(body) || (named && body.method !== 'initialize')
}

const has = (message: Message): boolean => textMeta(message, versionKey) !== undefined

/** What a legacy handshake asks for. */
const askedOf = (body: Message | Batch): string | undefined =>
  isBatch(body) || body.method !== 'initialize' ? undefined : stringParam(body, 'protocolVersion')

function checkRequest(request: Message, header: string | undefined, versions: readonly string[]): void {
  const { id } = request
  const named = stringMeta(request, versionKey)
  if (named !== undefined && header !== undefined && named !== header) {
    const text = `Header mismatch: MCP-Protocol-Version is ${header}, _meta says ${named}`
    throw new GatewayError('mismatch', text, { id })
  }
  const version = named ?? header
  if (version !== undefined && !(isModern(version) && versions.includes(version))) {
    throw unsupported(version, versions, id)
  }
  if (named === undefined) throw new GatewayError('meta', `params._meta["${versionKey}"] must be a string`, { id })
  if (!isObjectText(textMeta(request, capabilitiesKey))) {
    throw new GatewayError('meta', `params._meta["${capabilitiesKey}"] must be an object`, { id })
  }
  if (header === undefined) {
    throw new GatewayError('mismatch', 'Header mismatch: MCP-Protocol-Version is missing', { id })
  }
}

const unsupported = (requested: string, versions: readonly string[], id: string | undefined): GatewayError => {
  const supported = [...versions].reverse()
  const text = `Unsupported protocol version ${requested.slice(0, 40)}: one of ${supported.join(', ')}`
  return new GatewayError('unsupported_version', text, { id, data: { supported, requested } })
}
