import t from 'tap'
import { parse } from '../../src/config/parse.ts'

const outside = { env: () => 'value', file: () => 'value' }

const whole = `server:
  port: 8080
  limits: { body: 4MiB }
sessions: { idle: 30m }
backends:
  docs: { kind: http, url: "http://docs:3000/mcp", headers: { X-A: "\${A}" } }
  files:
    kind: stdio
    command: server
    args: [-y, "a b"]
routes:
  /mcp: { backends: [docs] }
  /files: { backends: [files] }
`

t.test('a file that is cut off is refused, or says less: never something else, and no fault of ours (C3)', t => {
  const { config: expected } = parse(whole, '/', outside)
  t.ok(expected)
  const reasons = new Set<string>()
  for (let end = 0; end < whole.length; end++) {
    const parsed = parse(whole.slice(0, end), '/', outside)
    if (parsed.config === undefined) {
      t.ok(parsed.problems.length > 0, `cut at ${end}: refused, and told why`)
      for (const problem of parsed.problems) reasons.add(JSON.stringify(problem).slice(0, 60))
    } else {
      const names = parsed.config.backends.map(({ name }) => name)
      t.ok(
        names.every(name => name === 'docs' || name === 'files'),
        `cut at ${end}: no backend that nobody wrote`
      )
    }
  }
  t.ok(reasons.size > 5)
  t.end()
})

t.test('text that is no mapping is no config (C3)', t => {
  for (const text of ['na', '- na', '[', '{', '"', 'null', '1', '', '---', '...', 'backends:', 'backends: []']) {
    t.equal(parse(text, '/', outside).config, undefined, text)
  }
  t.end()
})
