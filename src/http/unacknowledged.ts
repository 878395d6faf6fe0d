/**
 * What peers have not acknowledged. Whoever vanishes without FIN or RST takes nothing more, and nobody says so: the kernel
 * keeps what is written for them and tries again, for about 15 minutes, and does not probe a connection that has something
 * under way. Node cannot set the time after which it gives up (TCP_USER_TIMEOUT); Linux shows the bytes in a table.
 */
import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'

/** Bytes under way, by {@link peerKey}; peers with none are not in it. */
export type Unacknowledged = ReadonlyMap<string, number>

/** Of an established connection: the peer, and the bytes under way if there are any. */
const line = /^ *\d+: [0-9A-F]+:[0-9A-F]{4} ([0-9A-F]+:[0-9A-F]{4}) 01 (?!0{8})([0-9A-F]{8}):/gm

export function parseTable(table: string, into: Map<string, number>): void {
  for (const [, peer, bytes] of table.matchAll(line)) into.set(peer!, Number.parseInt(bytes!, 16))
}

/** Of every TCP connection of this network namespace. Empty on other systems than Linux. */
export async function unacknowledged(): Promise<Unacknowledged> {
  const found = new Map<string, number>()
  for (const table of ['/proc/self/net/tcp', '/proc/self/net/tcp6']) {
    parseTable(await readFile(table, 'latin1').catch(() => ''), found)
  }
  return found
}

/** A peer as the table names it: the address in words of the machine's byte order (little-endian), the port. */
export function peerKey(address: string, port: number): string {
  const bytes = isIPv6(address) ? bytesOf(address) : address.split('.').map(Number)
  let key = ''
  for (let at = 0; at < bytes.length; at += 4) for (let i = 3; i >= 0; i--) key += hex(bytes[at + i]!, 2)
  return `${key}:${hex(port, 4)}`
}

const hex = (value: number, digits: number): string => value.toString(16).toUpperCase().padStart(digits, '0')

function bytesOf(address: string): number[] {
  const [plain = ''] = address.split('%')
  const dotted = /[\d.]+$/.exec(plain)?.[0].split('.').map(Number) ?? []
  const groups = dotted.length < 4 ? plain : plain.replace(/[\d.]+$/, `${pair(dotted, 0)}:${pair(dotted, 2)}`)
  const [before = '', after] = groups.split('::')
  const words = (text: string): number[] => (text === '' ? [] : text.split(':').map(word => Number.parseInt(word, 16)))
  const [head, tail] = [words(before), words(after ?? '')]
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => 0)
  return [...head, ...zeros, ...tail].flatMap(word => [word >> 8, word & 0xff])
}

const pair = (bytes: readonly number[], at: number): string => (bytes[at]! * 256 + bytes[at + 1]!).toString(16)
