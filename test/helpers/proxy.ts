/** nginx and HAProxy in front of a gateway, each a child of the test, on free loopback ports, with files of its own. */
import { access, chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { type Child, endOf, startChild } from './child.ts'
import { freePorts } from './ports.ts'
import { until } from './until.ts'

export interface RunningProxy {
  /** Plain HTTP. */
  readonly url: string
  /** TLS, with HTTP/2 and HTTP/1.1; only where the config has it. */
  readonly tlsUrl: string
  readonly child: Child
}

/** Where a proxy listens, and what it sends requests to. */
export interface ProxyPorts {
  readonly plain: number
  readonly tls: number
  readonly gateway: number
  readonly admin: number
}

/** The name that the certificate of the fixtures is for. */
export const publicHost = 'mcp.example.com'

const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url))
export const certificate = path('test/fixtures/tls/mcp.example.com.pem')
export const authority = path('test/fixtures/tls/ca.crt')

const places = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin']

/** Where a program is, if it is installed. */
export async function findProgram(name: string): Promise<string | undefined> {
  for (const place of places) {
    const file = join(place, name)
    if (
      await access(file).then(
        () => true,
        () => false
      )
    )
      return file
  }
  return undefined
}

/** Replaces what must be there: an example that says something else than the tests think is not what they try. */
export function replaced(text: string, changes: readonly (readonly [from: string, to: string])[]): string {
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`the file does not say ${JSON.stringify(from)}`)
    text = text.replaceAll(from, to)
  }
  return text
}

export const example = (name: string): Promise<string> => readFile(path(`deploy/${name}`), 'utf8')

const accepts = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.on('connect', () => resolve(true))
    socket.on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })

async function start(
  t: Test,
  gateway: { readonly port: number; readonly adminPort: number },
  command: (folder: string, ports: ProxyPorts) => Promise<readonly string[]>
): Promise<RunningProxy> {
  const [plain, tls] = (await freePorts(2)) as [number, number]
  const folder = await mkdtemp(join(tmpdir(), 'proxy-'))
  // Workers of nginx that are not root go into it too.
  await chmod(folder, 0o755)
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const ports = { plain, tls, gateway: gateway.port, admin: gateway.adminPort }
  // Ends with its input, so also when this process is killed.
  const child = startChild('sh', ['-c', '"$@" & read -r _; kill $!; wait $!', 'sh', ...(await command(folder, ports))])
  t.teardown(async () => {
    child.endInput()
    await endOf(child, 5_000).catch(() => undefined)
  })
  await until('the proxy listens', () => accepts(plain), 10_000).catch(() => {
    throw new Error(`the proxy does not listen:\n${child.output()}`)
  })
  return { url: `http://127.0.0.1:${plain}`, tlsUrl: `https://127.0.0.1:${tls}`, child }
}

/** `servers`: what stands in `http { }`. */
export function startNginx(
  t: Test,
  gateway: { readonly port: number; readonly adminPort: number },
  servers: (ports: ProxyPorts) => string
): Promise<RunningProxy> {
  return start(t, gateway, async (folder, ports) => {
    const kept = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map(name => `${name}_temp_path ${folder}/${name};`)
      .join('\n')
    const file = join(folder, 'nginx.conf')
    const outside = `daemon off;\nmaster_process off;\npid ${folder}/nginx.pid;\nerror_log stderr;\nevents {}\n`
    await writeFile(file, `${outside}http {\naccess_log off;\n${kept}\n${servers(ports)}\n}\n`)
    return [(await findProgram('nginx'))!, '-p', folder, '-c', file, '-e', 'stderr']
  })
}

export function startHaproxy(
  t: Test,
  gateway: { readonly port: number; readonly adminPort: number },
  config: (ports: ProxyPorts) => string
): Promise<RunningProxy> {
  return start(t, gateway, async (folder, ports) => {
    const file = join(folder, 'haproxy.cfg')
    await writeFile(file, config(ports))
    return [(await findProgram('haproxy'))!, '-db', '-f', file]
  })
}
