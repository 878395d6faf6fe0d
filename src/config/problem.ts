/** One thing that is wrong with a config file. Lines and columns count from 1; 0 is no place in particular. */
export interface Problem {
  readonly line: number
  readonly column: number
  /** `backends.docs.url`; empty for the file as a whole. */
  readonly path: string
  /** What was expected, what was found, a suggestion. Never a secret. */
  readonly message: string
}

export const pathOf = (keys: readonly PropertyKey[]): string =>
  keys.reduce<string>((path, key) => {
    if (typeof key === 'number') return `${path}[${key}]`
    const name = String(key)
    if (!/^[\w-]+$/.test(name)) return `${path}[${JSON.stringify(name)}]`
    return path === '' ? name : `${path}.${name}`
  }, '')

/** A config that cannot be used. The message has one line for each problem, in the order of the file. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly Problem[]
  constructor(file: string, problems: readonly Problem[]) {
    const ordered = problems.toSorted((a, b) => a.line - b.line || a.column - b.column)
    const lines = ordered.map(({ line, column, path, message }) => {
      const place = line > 0 ? `${file}:${line}:${column}` : file
      return path === '' ? `${place}: ${message}` : `${place} ${path}: ${message}`
    })
    super(lines.join('\n'))
    this.problems = ordered
  }
}
