import { glob, readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import type { Values } from '../src/config/expand.ts'
import { jsonSchemaText } from '../src/config/json-schema.ts'
import { parse } from '../src/config/parse.ts'
import { ConfigError } from '../src/config/problem.ts'

const root = new URL('../', import.meta.url)
const read = (path: string): Promise<string> => readFile(new URL(path, root), 'utf8')

const files = async (...patterns: string[]): Promise<string[]> => {
  const found: string[] = []
  for await (const file of glob(patterns, { cwd: root })) found.push(file)
  return found.sort()
}

/** Whatever variables an example names, they are set to something of the right form. */
const values: Values = {
  env: name =>
    /PORT/.test(name)
      ? '8080'
      : /URL/.test(name)
        ? 'http://127.0.0.1:1/mcp'
        : /KEY/.test(name)
          ? 'k'.repeat(43)
          : 'value',
  file: () => 'value'
}

const expectValid = (t: Test, text: string, name: string): void => {
  const parsed = parse(text, '/etc/causeway', values)
  t.equal(parsed.config === undefined ? new ConfigError(name, parsed.problems).message : '', '', name)
}

t.test('every config in config/ is valid, and its first line names the schema', async t => {
  const found = await files('config/**/*.yaml')
  t.ok(found.length >= 5)
  for (const file of found) {
    const text = await read(file)
    expectValid(t, text, file)
    const schema = file.includes('examples') ? '../causeway.schema.json' : './causeway.schema.json'
    t.equal(text.split('\n')[0], `# yaml-language-server: $schema=${schema}`, file)
  }
})

t.test('every yaml code block in README.md and docs/ is a valid config, or a part of one', async t => {
  // Blocks marked `yml` are YAML of something else. A part without backends is completed by one.
  const found = await files('README.md', 'docs/**/*.md')
  for (const file of found) {
    const text = await read(file)
    for (const { 1: block = '', index } of text.matchAll(/^```yaml\n(.*?)^```/gms)) {
      const whole = /^(backends|mcpServers):|"mcpServers"/m.test(block)
      const line = text.slice(0, index).split('\n').length
      expectValid(
        t,
        whole ? block : `${block}\nbackends: { demo: { kind: module, path: ./demo.js } }`,
        `${file}:${line}`
      )
    }
  }
})

t.test('the committed JSON Schema is the one that the command prints', async t => {
  t.equal(await read('config/causeway.schema.json'), jsonSchemaText(), 'causeway schema > config/causeway.schema.json')
})
