/** Soft checks of in-process metadata: what looks wrong is told to the author and served all the same. */
import type { Annotations, Icon } from './content.ts'

export type Warn = (problem: string) => void

/**
 * `audience` of `user` and `assistant`, `priority` from 0 to 1, `lastModified` in ISO 8601 (schema, Annotations). Returns
 * them as given, without an empty `audience` and without what JSON cannot say; undefined when nothing is left.
 */
export function checkAnnotations(annotations: Annotations, warn: Warn): Annotations | undefined {
  const { audience, priority, lastModified, ...rest } = annotations as { readonly [member: string]: unknown }
  const kept: Record<string, unknown> = { ...rest }
  if (audience !== undefined && audience !== null && !(Array.isArray(audience) && audience.length === 0)) {
    if (!Array.isArray(audience) || audience.some(role => role !== 'user' && role !== 'assistant')) {
      warn(`annotations.audience should hold "user" and "assistant" only: ${JSON.stringify(audience)}`)
    }
    kept.audience = audience
  }
  if (priority !== undefined && priority !== null) {
    if (typeof priority !== 'number' || !(priority >= 0 && priority <= 1)) {
      warn(`annotations.priority should be a number from 0 to 1: ${String(priority)}`)
    }
    if (typeof priority !== 'number' || Number.isFinite(priority)) kept.priority = priority
  }
  if (lastModified !== undefined && lastModified !== null) {
    if (typeof lastModified !== 'string' || !isIso(lastModified)) {
      warn(`annotations.lastModified should be a date of ISO 8601: ${String(lastModified)}`)
    }
    kept.lastModified = lastModified
  }
  return Object.keys(kept).length === 0 ? undefined : kept
}

const isIso = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/.test(text) &&
  !Number.isNaN(Date.parse(text))

/** Clients refuse other schemes than http(s) and data (basic/index, "Icons"). */
export function checkIcons(icons: readonly Icon[], warn: Warn): void {
  for (const { src } of icons) {
    if (!/^(https?|data):/i.test(String(src))) warn(`an icon's src should be an http(s) or data URI: ${String(src)}`)
  }
}
