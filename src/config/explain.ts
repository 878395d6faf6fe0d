import type * as z from 'zod'
import { backend } from './backend.ts'
import { type Problem, pathOf } from './problem.ts'
import { isSecret, withoutSecrets } from './secret.ts'
import type { Source } from './source.ts'
import { nearest, repair } from './suggest.ts'

type Path = readonly PropertyKey[]

/** A rule that is broken at a path. `words` is what could have been written there. */
export interface Broken {
  readonly path: Path
  readonly message: string
  readonly words?: readonly string[]
  /** Whether the key is wrong, not its value. */
  readonly key?: boolean
}

/** Keys that the design has and this version does not: better an error than a setting that does nothing. */
const later: readonly RegExp[] = [/^sessions\.perPrincipal$/, /^(backends|mcpServers)\.[\w-]+\.(era|pool|passthrough)$/]

/** Settings of any kind of backend: in the wrong one they are no typing mistakes. */
const ofBackends = new Set(backend.options.flatMap(kind => Object.keys(kind.shape)))

/** The error map of a parse: an unknown key is reported with the keys that are known there. */
export const knownKeys: z.core.$ZodErrorMap = issue =>
  issue.code === 'unrecognized_keys' && issue.inst !== undefined
    ? Object.keys((issue.inst as unknown as z.ZodObject).shape).join(' ')
    : undefined

/** The issues of each alternative that has the form of what was written: there something inside of it is wrong. */
export const insideUnion = ({ path, errors }: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[][] =>
  errors
    .filter(
      issues => issues.length > 0 && issues.every(each => each.path.length > 0 || each.code === 'unrecognized_keys')
    )
    .map(issues => issues.map(each => ({ ...each, path: [...path, ...each.path] })))

/** What the schema's issues say, one for each thing to repair. */
export const broken = (issue: z.core.$ZodIssue): readonly Broken[] => {
  const { path, message } = issue
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map(key => {
        const full = [...path, key]
        if (later.some(pattern => pattern.test(pathOf(full)))) {
          return { path: full, message: 'not served by this version, remove it', key: true }
        }
        const words = message.split(' ')
        if (path.length !== 2 || !ofBackends.has(key)) return { path: full, message: 'unknown key', words, key: true }
        const short = path[0] === 'mcpServers' && !words.includes('kind')
        const where = short
          ? 'a setting of backends alone, mcpServers has its default'
          : 'not a setting of this kind of backend'
        return { path: full, message: where, key: true }
      })
    case 'invalid_key':
      return issue.issues.map(inner => ({ path, message: inner.message, key: true }))
    case 'invalid_value':
      return [{ path, message, words: issue.values.map(String) }]
    case 'invalid_union': {
      const [inside] = insideUnion(issue)
      if (inside !== undefined) return inside.flatMap(broken)
      return [{ path, message, words: 'options' in issue ? (issue.options as unknown[]).map(String) : [] }]
    }
    case 'invalid_type':
      return [
        { path, message: issue.expected === 'object' || issue.expected === 'record' ? 'expected a mapping' : message }
      ]
    default:
      return [{ path, message }]
  }
}

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key) ? Reflect.get(inner, key) : undefined,
    value
  )

/** The kind that a backend without one probably is. */
const kindOf = (entry: unknown): string | undefined => {
  if (typeof entry !== 'object' || entry === null) return undefined
  return 'url' in entry ? 'http' : 'command' in entry ? 'stdio' : 'path' in entry ? 'module' : undefined
}

const got = (value: unknown): string => {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object' && value !== null) return 'a mapping'
  if (typeof value !== 'string') return String(value)
  const plain = withoutSecrets(value)
  return JSON.stringify(plain.length > 80 ? `${plain.slice(0, 80)}...` : plain)
}

/** Words a broken rule for people. Nothing that came from `${...}`, no header and no variable of a program is shown. */
export const explain = (source: Source, { path, message, words, key = false }: Broken): Problem => {
  const value = valueAt(source.value, path)
  const name = String(path.at(-1) ?? '')
  const place = { ...source.place(path, key), path: pathOf(path) }
  if (key) {
    const meant = words === undefined ? repair(message, name) : nearest(name, words)
    return { ...place, message: meant === undefined ? message : `${message}. Did you mean ${meant}?` }
  }
  if (value === undefined) {
    const kind = name === 'kind' ? kindOf(valueAt(source.value, path.slice(0, -1))) : undefined
    const hint = kind === undefined ? '' : `. Did you mean kind: ${kind}?`
    return { ...place, message: path.length === 0 ? message : `missing: ${message}${hint}` }
  }
  if (source.expanded(path) || isSecret(path)) {
    const quotes = message === 'expected a string' && typeof value !== 'object' ? '. Put it in quotes' : ''
    return { ...place, message: `${message} (got ***)${quotes}` }
  }
  const meant = (words === undefined ? undefined : nearest(String(value), words)) ?? repair(message, value)
  const hint = meant === undefined || meant === value ? '' : `. Did you mean ${withoutSecrets(meant)}?`
  return { ...place, message: `${message} (got ${got(value)})${hint}` }
}
