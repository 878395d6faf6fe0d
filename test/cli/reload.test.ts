/** The config changes while the process runs: by its file, and by SIGHUP (C2, LIF-03). */
import { rename, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { endOf, startChild } from '../helpers/child.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { fixture } from '../helpers/stdio.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

const program = (...flags: string[]) => ({
  kind: 'stdio',
  command: process.execPath,
  args: [fixture('server.mjs'), ...flags]
})
const text = (more: object = {}, rest: object = {}): string =>
  JSON.stringify({ server: { port: 0 }, admin: { port: 0 }, backends: { files: program(), ...more }, ...rest })

t.test(
  'the file is followed: a bad one is told once and left, a good one is served; SIGHUP reads it again',
  async t => {
    const folder = t.testdir({ 'causeway.yaml': text() })
    const file = `${folder}/causeway.yaml`
    const put = async (content: string): Promise<void> => {
      await writeFile(`${file}.new`, content)
      await rename(`${file}.new`, file)
    }
    const child = startChild(process.execPath, [main, '-c', file])
    t.teardown(() => child.kill('SIGKILL'))
    const said = (pattern: RegExp): Promise<string> => child.line(line => pattern.exec(line)?.[1], 20_000)
    const url = await said(/serving files at (http:\S+\/mcp)"/)
    const admin = await said(/health and metrics at (http:\S+)"/)
    const client = await RawClient.open(url)
    const pid = async (): Promise<string> => (await client.call('pid')).json.result.content[0].text
    const before = await pid()

    await put('backends: { files: { kind: stdoi } }')
    t.match(await said(/(the config was refused.*)/), /backends\.files\.kind/)
    t.match(await (await fetch(`${admin}/metrics`)).text(), /causeway_config_last_reload_successful 0\n/)
    const { config } = (await (await fetch(`${admin}/readyz?verbose`)).json()) as any
    t.match(config.lastReload.reason, /causeway\.yaml:1:\d+ backends\.files\.kind/)
    t.equal(await pid(), before)

    await put(
      text({ more: program('more') }, { routes: { '/mcp': { backends: ['files'] }, '/more': { backends: ['more'] } } })
    )
    await said(/(the config changed)/)
    t.equal(await pid(), before, 'the same process, the same session')
    await RawClient.open(new URL('/more', url).href)

    child.kill('SIGHUP')
    await said(/(read again: nothing changed)/)
    t.equal(await pid(), before)
    t.equal(child.output().match(/the config was refused/g)?.length, 1)
    child.kill('SIGTERM')
    t.equal(await endOf(child, 10_000), 0)
  }
)
