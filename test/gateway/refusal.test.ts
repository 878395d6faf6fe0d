import t from 'tap'
import { refusal } from '../../src/gateway/refusal.ts'
import { messageOf } from '../helpers/fake-backend.ts'

const codeOf = (method: string, params: object | undefined, capabilities: object): number | undefined =>
  refusal(messageOf({ id: 1, method, ...(params === undefined ? {} : { params }) }), JSON.stringify(capabilities))?.code

t.test('elicitation: `{}` is form mode alone, each mode has to be declared (R110b)', async t => {
  const cases: readonly (readonly [unknown, object, number | undefined])[] = [
    [undefined, {}, -32601],
    [null, {}, -32601],
    [true, {}, -32601],
    [[], {}, -32601],
    [{}, {}, undefined],
    [{}, { mode: 'form' }, undefined],
    [{}, { mode: 'url' }, -32602],
    [{ form: {} }, { mode: 'form' }, undefined],
    [{ form: {} }, { mode: 'url' }, -32602],
    [{ url: {} }, { mode: 'url' }, undefined],
    [{ url: {} }, { mode: 'form' }, -32602],
    [{ url: {} }, {}, -32602],
    [{ form: {}, url: {} }, {}, undefined],
    [{ form: {}, url: {} }, { mode: 'url' }, undefined],
    [{ form: {}, url: {} }, { mode: 'x-future' }, -32602],
    [{ 'x-future': {} }, { mode: 'x-future' }, undefined],
    [{}, { mode: 'constructor' }, -32602],
    [{}, { mode: '__proto__' }, -32602],
    [{}, { mode: 1 }, undefined]
  ]
  for (const [declared, params, code] of cases) {
    t.equal(codeOf('elicitation/create', params, { elicitation: declared }), code, JSON.stringify([declared, params]))
  }
  t.equal(codeOf('elicitation/create', undefined, { elicitation: {} }), undefined)
})

t.test('sampling, and tools in it (R112)', async t => {
  const cases: readonly (readonly [unknown, object, number | undefined])[] = [
    [undefined, {}, -32601],
    [{}, {}, undefined],
    [{}, { tools: [] }, -32602],
    [{}, { toolChoice: null }, -32602],
    [{ context: {} }, { tools: [] }, -32602],
    [{ tools: {} }, { tools: [], toolChoice: {} }, undefined]
  ]
  for (const [declared, params, code] of cases) {
    t.equal(codeOf('sampling/createMessage', params, { sampling: declared }), code, JSON.stringify([declared, params]))
  }
})

t.test('roots (R111)', async t => {
  t.equal(codeOf('roots/list', undefined, {}), -32601)
  t.equal(codeOf('roots/list', undefined, { roots: {} }), undefined)
})

t.test('methods that are not of the core are not judged', async t => {
  for (const method of ['tasks/get', 'x/vendor', 'ping']) t.equal(codeOf(method, {}, {}), undefined)
})
