/** Which `Host` headers are ours (DNS rebinding; R20, ORG-03). */
import { isIPv4, isIPv6 } from 'node:net'
import { GatewayError } from '../errors.ts'

export type CheckHost = (host: string | undefined) => void

/** Loopback names and IP literals with any port, the host of `publicUrl`, and `allowedHosts` (with a port: that port alone). */
export function hostCheck(publicUrl: string | undefined, allowedHosts: readonly string[]): CheckHost {
  const allowed = new Set(allowedHosts.map(host => host.toLowerCase()))
  if (publicUrl !== undefined) allowed.add(new URL(publicUrl).hostname)
  const known = new Map<string, boolean>()
  const isOurs = (host: string): boolean => {
    const parsed = parseHost(host)
    if (parsed === undefined) return false
    return (
      isLoopbackName(parsed.name) ||
      isAddress(parsed.name) ||
      allowed.has(parsed.name) ||
      allowed.has(host.toLowerCase())
    )
  }
  return host => {
    if (host === undefined) throw missing()
    let ours = known.get(host)
    if (ours === undefined) {
      ours = isOurs(host)
      if (known.size < maxKnown) known.set(host, ours)
    }
    if (!ours) throw new GatewayError('host', 'the Host header names another host: see server.allowedHosts')
  }
}

const missing = (): GatewayError =>
  new GatewayError('header', 'the Host header is missing', { headers: { connection: 'close' } })

/** Verdicts that are remembered: a client can send as many names as it likes. */
const maxKnown = 100

/** Name in lower case and port; undefined when it is no host. */
export function parseHost(host: string): { readonly name: string; readonly port: string | undefined } | undefined {
  const found = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+)(?::(\d{1,5}))?$/.exec(host)
  if (found === null || Number(found[2] ?? 0) > 65_535) return undefined
  return { name: found[1]!.toLowerCase(), port: found[2] }
}

const isLoopbackName = (name: string): boolean => name === 'localhost' || name.endsWith('.localhost')

const isAddress = (name: string): boolean => (name.startsWith('[') ? isIPv6(name.slice(1, -1)) : isIPv4(name))

/** Whether an address to listen on, or the host of an origin, is this machine alone. */
export const isLoopback = (host: string): boolean => {
  const name = host.startsWith('[') ? host.slice(1, -1) : host
  return isLoopbackName(name) || name === '::1' || (isIPv4(name) && name.startsWith('127.'))
}
