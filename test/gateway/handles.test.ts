import assert from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { handlePrefix, parseHandle } from '../../src/gateway/handles.ts'
import { anyString } from '../helpers/json.ts'

const names = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,8}$/)

t.test('R121: a handle gives back the backend and its own id, whatever that is', async () => {
  fc.assert(
    fc.property(names, anyString, (backend, id) => {
      assert.deepEqual(parseHandle(handlePrefix(backend) + id), { backend, id })
    })
  )
})

t.test('R121: two tasks never have one handle', async () => {
  fc.assert(
    fc.property(names, anyString, names, anyString, (a, x, b, y) => {
      fc.pre(a !== b || x !== y)
      assert.notEqual(handlePrefix(a) + x, handlePrefix(b) + y)
    })
  )
})

t.test('R121: what names no backend is no handle', async t => {
  for (const text of ['', '~', '~1', '786512e2-9e0d-44bd-8f29-789f320fe840', 'a_b']) {
    t.equal(parseHandle(text), undefined, text)
  }
})
