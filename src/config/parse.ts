import type * as z from 'zod'
import { type Config, file } from './config.ts'
import type { Values } from './expand.ts'
import { broken, explain, insideUnion, knownKeys } from './explain.ts'
import type { Problem } from './problem.ts'
import { resolve } from './resolve.ts'
import { rules } from './rules.ts'
import { read, type Source } from './source.ts'

export type Parsed =
  | { readonly config: Config; readonly source: Source }
  | { readonly config?: undefined; readonly problems: readonly Problem[] }

/** An expanded value is text; where a number is expected, digits are one, as they would be if they stood in the file. */
const takeNumbers = (source: Source, issues: readonly z.core.$ZodIssue[]): boolean => {
  let taken = false
  for (const issue of issues) {
    if (issue.code === 'invalid_union') taken = takeNumbers(source, insideUnion(issue).flat()) || taken
    const key = issue.path.at(-1)
    if (issue.code !== 'invalid_type' || key === undefined || !source.expanded(issue.path)) continue
    const around = issue.path
      .slice(0, -1)
      .reduce<unknown>((inner, step) => Reflect.get(inner as object, step), source.value)
    const text: unknown = Reflect.get(around as object, key)
    if (issue.expected !== 'number' || typeof text !== 'string' || !/^\d{1,15}(\.\d{1,6})?$/.test(text)) continue
    taken = Reflect.set(around as object, key, Number(text)) || taken
  }
  return taken
}

/**
 * Reads the text of a config file. Everything that is wrong with it is found at once, except behind a syntax error.
 * @param directory what paths in the file are relative to
 */
export const parse = (text: string, directory: string, values: Values): Parsed => {
  const source = read(text, values)
  if (source.value === undefined) return { problems: source.problems }
  const attempt = () => file.safeParse(source.value, { error: knownKeys, reportInput: false })
  let result = attempt()
  if (!result.success && takeNumbers(source, result.error.issues)) result = attempt()
  const found = [...(result.error?.issues ?? []).flatMap(broken), ...rules(source.value)]
  const unread = new Set(source.problems.map(({ path }) => path))
  const explained = found.map(each => explain(source, each)).filter(({ path }) => !unread.has(path))
  const problems = [...source.problems, ...explained]
  return result.success && problems.length === 0 ? { config: resolve(result.data, directory), source } : { problems }
}
