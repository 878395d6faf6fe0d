const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host)

/** An address that can be asked: those that stand for every address of the machine are none. */
const reachable = (host: string): string =>
  host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : bracketed(host)

/** The URL of a listener on this machine. */
export const localUrl = (host: string, port: number): string => `http://${reachable(host)}:${port}`
