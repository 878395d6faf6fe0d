/** A Redis of a test's own: on a free port, in a folder of its own, nothing kept on disk. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { Sealer } from '../../src/protocol/seal.ts'
import { Redis, type RedisOptions } from '../../src/redis/store.ts'
import { type Child, startChild } from './child.ts'
import { freePorts } from './ports.ts'
import { findProgram } from './proxy.ts'
import { until } from './until.ts'

const program = (await findProgram('redis-server')) ?? (await findProgram('valkey-server'))

/** For the options of a test: why it is skipped, or false. */
export const withoutRedis: string | false = program === undefined && 'redis-server is not installed'

export interface RedisServer {
  readonly url: string
  readonly port: number
  /** A command of an operator, on a connection of its own; resolves to the reply as text. */
  command(...args: string[]): Promise<string>
  /** All keys there are. */
  keys(pattern?: string): Promise<string[]>
  /** All that is stored, keys and values, as it stands in memory. */
  dump(): Promise<string>
  /** `kill -9`. */
  kill(): Promise<void>
  /** Starts one in its place: empty, but for what an operator saved. */
  start(options?: readonly string[]): Promise<void>
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
}

export async function startRedis(t: Pick<Test, 'teardown'>, options: readonly string[] = []): Promise<RedisServer> {
  const [port] = (await freePorts(1)) as [number]
  const folder = await mkdtemp(join(tmpdir(), 'causeway-redis-'))
  let child: Child | undefined
  const command = (...args: string[]): Promise<string> => ask(port, args)
  const start = async (more: readonly string[] = []): Promise<void> => {
    const given = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no']
    child = startChild(program!, [...given, ...options, ...more])
    await until('Redis to answer', () => command('PING').then(Boolean, () => false))
  }
  const kill = async (): Promise<void> => {
    child?.kill('SIGCONT')
    child?.kill('SIGKILL')
    await child?.ended
  }
  t.teardown(async () => {
    await kill()
    await rm(folder, { recursive: true, force: true })
  })
  await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    command,
    kill,
    start,
    signal: signal => child?.kill(signal),
    async keys(pattern = '*') {
      const lines = (await command('KEYS', pattern)).split('\r\n')
      return lines.filter((_, i) => i > 0 && i % 2 === 0)
    },
    async dump() {
      await command('CONFIG', 'SET', 'rdbcompression', 'no')
      await command('SAVE')
      return readFile(join(folder, 'dump.rdb'), 'latin1')
    }
  }
}

/** One command in the inline form of the protocol with its arguments as they are; the reply is handed out unread. */
function ask(port: number, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    const parts = args.map(arg => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`)
    socket.end(`*${args.length}\r\n${parts.join('')}`)
    let reply = ''
    socket.setEncoding('utf8').on('data', (text: string) => {
      reply += text
    })
    socket.on('error', reject)
    socket.on('close', () => (reply === '' ? reject(new Error('no reply')) : resolve(reply)))
  })
}

/** What an instance has of it, once it is there. All instances of a test have the same key. */
export async function connectRedis(
  { url }: Pick<RedisServer, 'url'>,
  options: Partial<RedisOptions> = {}
): Promise<Redis> {
  const redis = new Redis({ url, prefix: 'test', sealer: new Sealer(Buffer.alloc(32, 'key')), ...options })
  await until('the connections', () => redis.up)
  return redis
}
