import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { startGateway } from '../gateway.ts'
import type { Options } from '../options.ts'
import { freePort, Program } from '../program.ts'
import type { Section } from '../report.ts'
import { type Contender, contender, rowOf, startBackend, startFloor, takeTurns } from './calls.ts'

const bench = path.join(import.meta.dirname, '..')
const folderOfPeers = path.join(bench, 'peers')
const echo = path.join(bench, 'upstream/stdio.ts')

/** Brings the other proxies into their own tree, once. */
const install = (): void => {
  if (fs.existsSync(path.join(folderOfPeers, 'node_modules/supergateway'))) return
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts'], {
    cwd: folderOfPeers,
    stdio: ['ignore', 'ignore', 'inherit']
  })
  if (status !== 0) throw new Error('npm ci in bench/peers failed')
}

/** The file behind a command of one of the peers, to be run by this very Node. */
const command = (name: string): string => fs.realpathSync(path.join(folderOfPeers, 'node_modules/.bin', name))

const startSupergateway = async (): Promise<Contender> => {
  const port = await freePort()
  const stdio = `${process.execPath} ${echo}`
  const switches = ['--outputTransport', 'streamableHttp', '--stateful', '--logLevel', 'none', '--port', `${port}`]
  const program = await Program.start({ args: [command('supergateway'), '--stdio', stdio, ...switches], port })
  return contender('supergateway 4.0.0, stdio', `http://127.0.0.1:${port}/mcp`, program)
}

const startMcpProxy = async (): Promise<Contender> => {
  const port = await freePort()
  const switches = ['--server', 'stream', '--host', '127.0.0.1', '--port', `${port}`]
  const args = [command('mcp-proxy'), ...switches, '--', process.execPath, echo]
  return contender('mcp-proxy 6.7.19, stdio', `http://127.0.0.1:${port}/mcp`, await Program.start({ args, port }))
}

const hasNginx = (): boolean => spawnSync('nginx', ['-v']).error === undefined

const startNginx = async (folder: string, backend: Contender): Promise<Contender> => {
  const port = await freePort()
  const config = path.join(folder, 'nginx.conf')
  const lines = [
    'daemon off; master_process off;',
    `pid ${folder}/nginx.pid; error_log ${folder}/nginx.err;`,
    'events { worker_connections 1024; }',
    'http {',
    '  access_log off;',
    ...['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `  ${name}_temp_path ${folder}/${name};`),
    `  upstream backend { server ${new URL(backend.url).host}; keepalive 64; }`,
    `  server { listen 127.0.0.1:${port}; keepalive_requests 100000000; location / {`,
    '    proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;',
    '  } }',
    '}'
  ]
  fs.writeFileSync(config, lines.join('\n'))
  const args = ['-p', folder, '-e', `${folder}/nginx.err`, '-c', config]
  const program = await Program.start({ command: 'nginx', args, port })
  return contender('nginx, 1 process', `http://127.0.0.1:${port}/mcp`, program)
}

/** One table with what else people put in front of MCP servers. No bars: the others do other things too. */
export const measurePeers = async (options: Options, folder: string): Promise<Section> => {
  install()
  const backend = await startBackend()
  const contenders = [backend, await startFloor(backend)]
  const notes: string[] = []
  try {
    if (hasNginx()) contenders.push(await startNginx(folder, backend))
    else notes.push('nginx is not installed and was left out.')
    const http = await startGateway({ folder, backend: { kind: 'http', url: backend.url } })
    contenders.push(contender('Causeway, http', http.url, http.program))
    const stdio = await startGateway({ folder, backend: { kind: 'stdio', command: process.execPath, args: [echo] } })
    contenders.push(contender('Causeway, stdio', stdio.url, stdio.program))
    contenders.push(await startSupergateway(), await startMcpProxy())
    await takeTurns(contenders, options)
    return {
      title: `Side by side: small tools/call, 32 connections, ${options.rounds} rounds of ${options.seconds} s`,
      rows: contenders.map(rowOf),
      bars: [],
      notes: [...notes, 'CPU and memory are of the proxy alone; with stdio the child process adds its own.']
    }
  } finally {
    await Promise.all(contenders.map(({ program }) => program.stop()))
  }
}
