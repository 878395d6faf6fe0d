/** Content blocks as they go out: strings become text, bytes become base64; what is broken is refused. */
import { checkAnnotations, type Warn } from './annotations.ts'
import type { Annotations, ContentBlock } from './content.ts'
import { ToolError } from './errors.ts'

type Loose = Readonly<Record<string, unknown>>

export const contentBlocks = (content: readonly (string | ContentBlock)[], warn: Warn): Loose[] =>
  content.map(item => block(item, warn))

/**
 * Blocks of a known type are checked (data must be base64, a MIME type must be there), others pass as they are. Throws a
 * ToolError that names the problem.
 */
export function block(item: string | ContentBlock, warn: Warn): Loose {
  if (typeof item === 'string') return { type: 'text', text: item }
  if (typeof item !== 'object' || item === null || typeof item.type !== 'string') {
    throw new ToolError('A content block has no type.')
  }
  const loose = withAnnotations(item as Loose, warn)
  if (item.type === 'text' && typeof loose.text !== 'string') throw new ToolError('A text block has no text.')
  if (item.type === 'image' || item.type === 'audio') {
    if (typeof loose.mimeType !== 'string' || loose.mimeType === '') {
      throw new ToolError(`A block of type ${item.type} has no mimeType.`)
    }
    return { ...loose, data: base64(loose.data) }
  }
  if (item.type === 'resource') return { ...loose, resource: contents(loose.resource, warn) }
  if (item.type === 'resource_link' && (typeof loose.uri !== 'string' || typeof loose.name !== 'string')) {
    throw new ToolError('A resource link needs a uri and a name.')
  }
  return loose
}

function contents(value: unknown, warn: Warn): Loose {
  const resource = value as Loose | undefined
  if (typeof resource?.uri !== 'string') throw new ToolError('An embedded resource has no uri.')
  const { text, blob } = resource
  if ((text === undefined) === (blob === undefined))
    warn(`the embedded resource ${resource.uri} needs either text or blob`)
  return blob === undefined ? resource : { ...resource, blob: base64(blob) }
}

/** Bytes as base64; text must be base64 already. */
export function base64(data: unknown): string {
  if (data instanceof Uint8Array) return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
  if (typeof data === 'string' && data.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(data)) return data
  throw new ToolError('The data of a block is not base64.')
}

export function withAnnotations(value: Loose, warn: Warn): Loose {
  if (value.annotations === undefined) return value
  const { annotations, ...rest } = value
  const kept = annotations === null ? undefined : checkAnnotations(annotations as Annotations, warn)
  return kept === undefined ? rest : { ...rest, annotations: kept }
}
