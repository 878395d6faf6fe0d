/**
 * Takes secrets out of what is about to be logged. Facts carry none on purpose; this is for free text (messages of errors,
 * lines of child programs) and for data that came along.
 */
import { withoutSecrets } from '../config/secret.ts'

/** Longest text of one field. */
const maxText = 2_048
const maxDepth = 4
const maxMembers = 32
const mask = '***'

/** Parts of a configured secret shorter than this are words, not secrets. */
const minSecret = 8

const scheme = /\b(bearer|basic|digest)\s+[\w.~+/=-]{4,}/gi
const token = /\beyJ[\w-]{4,}\.[\w-]+(\.[\w-]*)?/g
const assignment =
  /\b([\w-]*(?:authorization|cookie|token|secret|passw(?:or)?d|api[_-]?key|session-id))(["']?\s*[:=]\s*["']?)[^\s"',;}]+/gi
/** Members whose value is never logged, whatever it is: credentials, and what peers sent. */
const privateKey =
  /authorization|cookie|token|secret|passw|credential|api[_-]?key|session-?id|^(headers?|env|arguments|params|result|body)$/i

export interface Redactor {
  /** At most 2 KiB of the text, secrets replaced by `***`. */
  text(text: string): string
  /** A copy that can be written as JSON: bounded in depth and width, errors as `{type, code, message, stack, cause}`. */
  value(value: unknown): unknown
}

/** `secrets` are values that must not be seen wherever they stand: configured headers and variables. */
export const createRedactor = (secrets: Iterable<string> = []): Redactor => {
  const exact = pattern(secrets)

  const text = (given: string): string => {
    const cut = given.length > maxText * 2 ? given.slice(0, maxText * 2) : given
    const known = exact === undefined ? cut : cut.replace(exact, mask)
    const clean = withoutSecrets(known)
      .replace(scheme, `$1 ${mask}`)
      .replace(token, mask)
      .replace(assignment, `$1$2${mask}`)
    return clean.length > maxText ? `${clean.slice(0, maxText)}…` : clean
  }

  const failure = (error: Error, depth: number): Record<string, unknown> => ({
    type: error.name,
    code: 'code' in error && typeof error.code !== 'object' ? value(error.code, depth + 1) : undefined,
    message: text(error.message),
    stack: error.stack === undefined ? undefined : text(error.stack),
    cause: error.cause === undefined ? undefined : value(error.cause, depth + 1)
  })

  const value = (given: unknown, depth: number): unknown => {
    if (typeof given === 'string') return text(given)
    if (typeof given === 'bigint' || typeof given === 'symbol') return String(given)
    if (typeof given !== 'object' || given === null) return typeof given === 'function' ? undefined : given
    if (depth >= maxDepth) return '[...]'
    if (given instanceof Error) return failure(given, depth)
    if (Array.isArray(given)) return given.slice(0, maxMembers).map(item => value(item, depth + 1))
    return Object.fromEntries(
      Object.entries(given)
        .slice(0, maxMembers)
        .map(([key, inner]) => [
          key,
          privateKey.test(key) && typeof inner !== 'number' && typeof inner !== 'boolean'
            ? mask
            : value(inner, depth + 1)
        ])
    )
  }

  return { text, value: given => value(given, 0) }
}

/** Matches every secret, and every part of one that stands apart (the token of `Bearer token`), the longest first. */
const pattern = (secrets: Iterable<string>): RegExp | undefined => {
  const parts = new Set<string>()
  for (const secret of secrets) {
    for (const part of [secret, ...secret.split(/\s+/)]) if (part.length >= minSecret) parts.add(part)
  }
  if (parts.size === 0) return undefined
  const longestFirst = [...parts].sort((a, b) => b.length - a.length)
  return new RegExp(longestFirst.map(part => part.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')).join('|'), 'g')
}
