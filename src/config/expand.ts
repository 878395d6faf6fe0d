/** Where `${...}` gets its values. `file` throws when it cannot be read. */
export interface Values {
  env(name: string): string | undefined
  file(path: string): string
}

export type Expanded = { readonly text: string; readonly used: boolean } | { readonly error: string }

/** `$${`, or `${` with what follows up to its brace. */
const reference = /\$\$\{|\$\{([^}]*)(\}?)/g
const variable = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s

const value = (inside: string, values: Values): string => {
  if (inside.startsWith('file:')) return values.file(inside.slice('file:'.length))
  const [, name, fallback] = variable.exec(inside) ?? []
  if (name === undefined)
    throw new Error(`expected \${NAME}, \${NAME:-default} or \${file:/path}, and $\${ for a literal \${`)
  const found = values.env(name)
  if (fallback !== undefined) return found === undefined || found === '' ? fallback : found
  if (found === undefined) {
    throw new Error(`expected the environment variable ${name} to be set, or a default: \${${name}:-...}`)
  }
  return found
}

/**
 * Expands the references in one string of the config. A value is taken as it is: it is not expanded again, and cannot
 * add keys, because this happens after parsing. `used` tells whether any value came from outside.
 */
export const expand = (text: string, values: Values): Expanded => {
  let used = false
  try {
    const expanded = text.replace(reference, (_, inside: string | undefined, end: string) => {
      if (inside === undefined) return '${'
      if (end === '') throw new Error(`expected a } after \${, and $\${ for a literal \${`)
      used = true
      return value(inside, values)
    })
    return { text: expanded, used }
  } catch (error) {
    return { error: (error as Error).message }
  }
}
