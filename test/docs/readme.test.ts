/** What README.md says of several backends and of a config that changes, tried as it is written. */
import t from 'tap'
import { parse } from 'yaml'
import { codeIn, readText, tablesOf } from '../helpers/docs.ts'
import { configOf, startGateway } from '../helpers/gateway.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { Stocked } from '../helpers/union.ts'
import { until } from '../helpers/until.ts'

const page = await readText('README.md')
const [, yaml = ''] = /^### One server out of many\n\n```yaml\n(.*?)^```/ms.exec(page) ?? []
const codesIn = (cell = ''): string[] => [...cell.matchAll(/`(\w+)`/g)].map(([, code]) => code!)

t.test('README.md: clients see the tools that it says, and are told when the config changes', async t => {
  const rows = tablesOf(page).find(({ head }) => head[0] === 'backend')?.rows ?? []
  const { backends } = parse(yaml) as { backends: Record<string, object> }
  t.same(
    rows.map(([name]) => codeIn(name)),
    Object.keys(backends)
  )
  for (const [name, tools] of rows) {
    const upstream = await HttpUpstream.start(new Stocked(codeIn(name)!, { tools: codesIn(tools) }))
    t.teardown(() => upstream.close())
    Object.assign(backends[codeIn(name)!]!, { url: upstream.url })
  }
  const { url, gateway } = await startGateway(t, { backends })
  const client = await RawClient.open(url)
  const names = async (): Promise<string[]> =>
    (await client.request('tools/list')).json.result.tools.map(({ name }: { name: string }) => name)
  const shown = rows.map(([, , names]) => codesIn(names))
  t.same(await names(), shown.flat())

  const { events } = await client.get()
  const [first, second] = Object.entries(backends)
  await gateway.reload(configOf({ backends: Object.fromEntries([first!, second!]) }))
  await until('the news', () =>
    events.messages.some(({ method }: any) => method === 'notifications/tools/list_changed')
  )
  t.same(await names(), shown.slice(0, 2).flat())
})
