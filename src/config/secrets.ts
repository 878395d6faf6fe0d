import type { Config } from './config.ts'

const secretName = /key|token|secret|pass|credential|auth/i

/** Values that no line of the log may show: those of headers, and of variables whose name says so. */
export const secretsOf = (config: Config): string[] => [
  ...(config.secrets.key ? [config.secrets.key] : []),
  ...passwordOf(config.store.url),
  ...config.backends.flatMap(backend => {
    if (backend.kind === 'http' || backend.kind === 'sse') return Object.values(backend.headers)
    if (backend.kind !== 'stdio') return []
    return Object.entries(backend.env).flatMap(([name, value]) => (secretName.test(name) ? [value] : []))
  })
]

const passwordOf = (url: string | undefined): string[] => {
  const password = url === undefined ? '' : new URL(url).password
  return password === '' ? [] : [...new Set([password, decodeURIComponent(password)])]
}
