import t from 'tap'
import { legacyCapabilities } from '../../src/bridge/legacy-capabilities.ts'

t.test('the same is declared for the same, without tasks and news of roots', async t => {
  const { text, inputs } = legacyCapabilities('{"tasks":{},"sampling":{"tools":{}},"roots":{"listChanged":true}}')
  t.equal(text, '{"roots":{},"sampling":{"tools":{}}}')
  t.ok(inputs)
  t.equal(legacyCapabilities('{"roots":{},"sampling":{"tools":{}}}').text, text)
  t.same(legacyCapabilities('{"extensions":{}}'), { text: '{"extensions":{}}', inputs: false })
  t.same(legacyCapabilities('{}'), { text: '{}', inputs: false })
  t.ok(legacyCapabilities('{"elicitation":{}}').inputs)
})
