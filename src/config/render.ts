import { stringify } from 'yaml'
import * as z from 'zod'
import { type Config, file } from './config.ts'
import { isSecret, withoutSecrets } from './secret.ts'
import type { Source } from './source.ts'

type Path = readonly PropertyKey[]

/**
 * A config as YAML, as a file that says everything would have it: defaults and derived routes written out. Hidden as `***`:
 * headers, variables of programs, credentials and parameters in URLs, and whatever came from `${...}`.
 */
export const render = ({ backends, routes, ...rest }: Config, source: Source): string => {
  const written = {
    ...rest,
    backends: Object.fromEntries(backends.map(({ name, ...entry }) => [name, entry])),
    routes: Object.fromEntries(routes.map(({ path, ...route }) => [path, route]))
  }
  const outside = ([first, ...steps]: Path): boolean =>
    source.expanded([first!, ...steps]) || (first === 'backends' && source.expanded(['mcpServers', ...steps]))
  const mask = (value: unknown, path: Path): unknown => {
    if (Array.isArray(value)) return value.map((item, index) => mask(item, [...path, index]))
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mask(inner, [...path, key])]))
    }
    if (path.length > 0 && (isSecret(path) || outside(path))) return '***'
    return typeof value === 'string' ? withoutSecrets(value) : value
  }
  return stringify(mask(z.encode(file, written as z.output<typeof file>), []), { aliasDuplicateObjects: false })
}
