import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument, type Scalar } from 'yaml'
import { expand, type Values } from './expand.ts'
import { type Problem, pathOf } from './problem.ts'

type Path = readonly PropertyKey[]

/** A config file as read: its value with every `${...}` expanded, and where each part of it stands. */
export interface Source {
  readonly value: unknown
  readonly problems: readonly Problem[]
  /** The place of the value at a path, of its key where `key` is set, or of the nearest thing around it. */
  place(path: Path, key?: boolean): { readonly line: number; readonly column: number }
  /** Whether the value at a path came from outside the file, so that it may be a secret. */
  expanded(path: Path): boolean
}

/** Aliases may multiply what they stand for by this much (a "billion laughs" file is refused). */
const maxAliases = 100

const keyOf = (pair: Pair<unknown, unknown>): string => String((pair.key as Scalar | null)?.value ?? '')

/** YAML 1.2 core schema (JSON included), no merge keys, no tags, one document. */
export const read = (text: string, values: Values): Source => {
  const lines = new LineCounter()
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    uniqueKeys: false, // told below, with its path
    version: '1.2'
  })
  const problems: Problem[] = []
  const outside = new Set<unknown>()

  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  const report = (offset: number, path: Path, message: string): void => {
    // Some quote the file, line ends and all.
    problems.push({ ...at(offset), path: pathOf(path), message: message.replace(/[\s\p{Cc}]+/gu, ' ').trim() })
  }
  const start = (node: unknown): number => (node as Node | null)?.range?.[0] ?? 0

  const walk = (node: unknown, path: Path): void => {
    if (isMap(node)) {
      const seen = new Map<string, number>()
      for (const pair of node.items) {
        const key = keyOf(pair)
        const first = seen.get(key)
        if (first === undefined) seen.set(key, start(pair.key))
        else report(start(pair.key), [...path, key], `expected every key once, it is on line ${at(first).line} already`)
        if (key === '__proto__') report(start(pair.key), [...path, key], 'this cannot be a key')
        walk(pair.value, [...path, key])
      }
    } else if (isSeq(node)) {
      for (const [index, item] of node.items.entries()) walk(item, [...path, index])
    } else if (isAlias(node)) {
      if (node.resolve(document) === undefined) report(start(node), path, `unknown alias *${node.source}`)
    } else if (isScalar(node) && typeof node.value === 'string') {
      const expanded = expand(node.value, values)
      if ('error' in expanded) report(start(node), path, expanded.error)
      else node.value = expanded.text
      if ('error' in expanded || expanded.used) outside.add(node)
    }
  }

  /** The last of two equal keys counts. Steps down as far as the path leads: the node reached, and the pair it is the value of. */
  const find = (path: Path) => {
    let node: unknown = document.contents
    let pair: Pair<unknown, unknown> | undefined
    for (const [depth, key] of path.entries()) {
      const around = isAlias(node) ? node.resolve(document) : node
      const inner = isMap(around)
        ? around.items.findLast(item => keyOf(item) === key)
        : isSeq(around)
          ? around.items[key as number]
          : undefined
      if (inner === undefined) return { node, pair, found: depth === path.length }
      pair = isMap(around) ? (inner as Pair<unknown, unknown>) : undefined
      node = pair === undefined ? inner : pair.value
    }
    return { node, pair, found: true }
  }

  for (const { code, pos, message } of [...document.errors, ...document.warnings]) {
    report(pos[0], [], code === 'MULTIPLE_DOCS' ? 'expected one document, here begins another' : message)
  }
  let value: unknown
  if (problems.length === 0) {
    walk(document.contents, [])
    try {
      value = document.toJS({ maxAliasCount: maxAliases })
    } catch (error) {
      // Aliases that resolve to nothing are told already.
      if (problems.length === 0) report(0, [], `expected fewer aliases: ${(error as Error).message}`)
    }
  }
  return {
    value,
    problems,
    place(path, key = false) {
      const { node, pair, found } = find(path)
      return at(start(pair !== undefined && (key || !found || node === null) ? pair.key : node))
    },
    expanded(path) {
      const { node, found } = find(path)
      return found && outside.has(isAlias(node) ? node.resolve(document) : node)
    }
  }
}
