import { readFile } from 'node:fs/promises'

export const root = new URL('../../', import.meta.url)
export const readText = (path: string): Promise<string> => readFile(new URL(path, root), 'utf8')

export interface Table {
  /** Cells of the head. */
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

const cellsOf = (line: string): string[] =>
  line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map(cell => cell.trim())

/** The tables of a page, in order. */
export const tablesOf = (page: string): readonly Table[] =>
  [...page.matchAll(/^(\|.*\|)\n\|[-| :]+\|\n((?:\|.*\|\n)*)/gm)].map(([, head = '', body = '']) => ({
    head: cellsOf(head),
    rows: body
      .split('\n')
      .filter(line => line !== '')
      .map(cellsOf)
  }))

/** What stands in a cell between the first backticks. */
export const codeIn = (cell: string | undefined): string | undefined => /`([^`]+)`/.exec(cell ?? '')?.[1]

const milliseconds = { ms: 1, s: 1000, min: 60_000, m: 60_000, h: 3_600_000 }
const bytes = { bytes: 1, B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }
const units: Readonly<Record<string, number>> = { ...milliseconds, ...bytes }

/** `250 ms`, `4 MiB`, `10,000`: milliseconds, bytes, or the number. NaN for anything else. */
export const amountOf = (text: string): number => {
  const [, digits = '', unit] = /^([\d,.]+) ?([A-Za-z]*)$/.exec(text) ?? []
  const factor = unit === undefined ? Number.NaN : unit === '' ? 1 : units[unit]
  return digits === '' ? Number.NaN : Number(digits.replaceAll(',', '')) * (factor ?? Number.NaN)
}
