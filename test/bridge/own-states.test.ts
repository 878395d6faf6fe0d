import t from 'tap'
import { type Binding, OwnStates } from '../../src/bridge/own-states.ts'
import { Sealer } from '../../src/protocol/seal.ts'

const key = Buffer.alloc(32, 3)
const binding: Binding = { principal: 'i alice', method: 'tools/call', backend: 'one', name: '"x"' }
/** As a backend wrote it: no other text that says the same. */
const state = '"\\u0061 \\/ é"'

const statesOf = (ms = 60_000): OwnStates => new OwnStates({ sealer: new Sealer(key), ms })

t.test('what a backend made is opened as it was, on every instance that has the key, however often', async t => {
  const sealed = statesOf().seal(state, binding)
  t.notMatch(Buffer.from(sealed, 'base64url').toString('latin1'), 'alice')
  const elsewhere = statesOf()
  t.equal(elsewhere.open(sealed, binding, '1'), state)
  t.equal(elsewhere.open(sealed, binding, '2'), state)
  elsewhere.check(sealed, binding, '1')
})

t.test('it is as long as the backend made it', async t => {
  const long = JSON.stringify('s'.repeat(1_000_000))
  const states = statesOf()
  t.equal(states.open(states.seal(long, binding), binding, '1'), long)
})

for (const [what, other] of [
  ['caller', { principal: 'i mallory' }],
  ['method', { method: 'prompts/get' }],
  ['backend', { backend: 'two' }],
  ['name', { name: '"y"' }],
  ['request without a name', { name: undefined }]
] as const) {
  t.test(`it is nothing to another ${what} (S7)`, async t => {
    const states = statesOf()
    const sealed = states.seal(state, binding)
    t.throws(() => states.open(sealed, { ...binding, ...other }, '1'), { code: 'state', message: /another request/ })
  })
}

t.test('before the backend is known, caller and method are judged', async t => {
  const states = statesOf()
  const sealed = states.seal(state, binding)
  states.check(sealed, { principal: binding.principal, method: binding.method }, '1')
  t.throws(() => states.check(sealed, { ...binding, principal: 'i mallory' }, '1'), { code: 'state' })
  t.throws(() => states.check(sealed, { ...binding, method: 'prompts/get' }, '1'), { code: 'state' })
})

t.test('it is good for a time; what was changed, or made elsewhere, is not', async t => {
  t.throws(() => statesOf().open(statesOf(0).seal(state, binding), binding, '1'), { code: 'state', message: /expired/ })
  const sealed = statesOf().seal(state, binding)
  const changed = (sealed[20] === 'A' ? 'B' : 'A') + sealed.slice(1)
  for (const text of [changed, '', 'plain', new Sealer().seal('requestState of a backend', binding)]) {
    t.throws(() => statesOf().open(text, binding, '1'), { code: 'state', message: /not made here/ })
  }
  // What the gateway seals for its own parked calls is something else.
  const ours = new Sealer(key).seal('requestState', { ...binding, state, expires: Date.now() + 1e6 })
  t.throws(() => statesOf().open(ours, binding, '1'), { code: 'state' })
})
