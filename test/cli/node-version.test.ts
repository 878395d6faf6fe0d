import { readFile } from 'node:fs/promises'
import t from 'tap'
import { leastNode, tooOld } from '../../src/cli/node-version.ts'

t.test('a Node older than the least is refused with what to do, any other is not', async t => {
  for (const version of ['18.20.8', '20.20.2', '22.18.0', '9.0.0'])
    t.match(tooOld(version), `this is ${version}. In a clone`)
  for (const version of ['22.19.0', '22.20.1', '24.0.0', '26.1.0', process.versions.node])
    t.equal(tooOld(version), undefined)
})

t.test('the least Node is the one of package.json', async t => {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  t.equal((JSON.parse(text) as { engines: { node: string } }).engines.node, `>=${leastNode}`)
})

t.test('what is checked before everything else imports nothing that an older Node lacks', async t => {
  const source = await readFile(new URL('../../src/cli/main.ts', import.meta.url), 'utf8')
  t.same(
    [...source.matchAll(/^import .* from '(.*)'$/gm)].map(([, from]) => from),
    ['./node-version.ts']
  )
})
