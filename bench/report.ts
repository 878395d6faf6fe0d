import os from 'node:os'

/** One line of a table: what was measured, and its figures by column. */
export interface Row {
  readonly name: string
  readonly figures: Readonly<Record<string, number>>
}

/** A promise about a ratio. */
export interface Bar {
  readonly name: string
  readonly value: number
  readonly atMost?: number
  readonly atLeast?: number
}

export interface Section {
  readonly title: string
  readonly rows: readonly Row[]
  readonly bars: readonly Bar[]
  /** What was left out, and why. */
  readonly notes?: readonly string[]
}

export const holds = ({ value, atMost, atLeast }: Bar): boolean =>
  (atMost === undefined || value <= atMost) && (atLeast === undefined || value >= atLeast)

const number = (value: number): string =>
  Math.abs(value) >= 1000 ? Math.round(value).toLocaleString('en') : value.toPrecision(3)

const table = (lines: readonly (readonly string[])[]): string => {
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map(line => line[column]?.length ?? 0))) ?? []
  const pad = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  const [heading = [], ...rest] = lines
  return [heading.map(pad), rule, ...rest.map(line => line.map(pad))].map(line => `| ${line.join(' | ')} |`).join('\n')
}

/** Markdown, as it stands in docs/benchmarks.md. */
export const format = ({ title, rows, bars, notes = [] }: Section): string => {
  const columns = [...new Set(rows.flatMap(row => Object.keys(row.figures)))]
  const figures = rows.map(row => {
    const cells = columns.map(column => row.figures[column])
    return [row.name, ...cells.map(cell => (cell === undefined ? '' : number(cell)))]
  })
  const limits = bars.map(bar => {
    const limit = bar.atMost !== undefined ? `at most ${bar.atMost}` : `at least ${bar.atLeast}`
    return [bar.name, bar.value.toFixed(2), limit, holds(bar) ? 'yes' : 'NO']
  })
  const parts = [`### ${title}`, table([['', ...columns], ...figures])]
  if (limits.length > 0) parts.push(table([['ratio', 'measured', 'bar', 'holds'], ...limits]))
  return [...parts, ...notes].join('\n\n')
}

export const machine = (): string => {
  const cpu = os.cpus()[0]?.model ?? 'unknown processor'
  return `${os.cpus().length} cores (${cpu}), ${os.type()} ${os.release()}, Node ${process.versions.node}`
}
