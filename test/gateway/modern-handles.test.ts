import t from 'tap'
import { anonymous } from '../../src/auth/principal.ts'
import type { Backend } from '../../src/backends/backend.ts'
import { ModernHandles } from '../../src/gateway/modern-handles.ts'
import { Sealer } from '../../src/protocol/seal.ts'

const [a, b] = ['a', 'b'].map(name => ({ name }) as Backend) as [Backend, Backend]
const secret = Buffer.alloc(32, 7)
const handles = new ModernHandles(new Sealer(secret))
const holder = (key: string, backends: Backend[]) => ({ principal: { key }, route: { backends } })

t.test('nobody in particular, one backend: ids are as they are', async t => {
  const one = holder(anonymous.key, [a])
  t.equal(handles.of({ backend: a, id: 'x~y' }, one), 'x~y')
  t.same(handles.read('x~y', one), { backend: a, id: 'x~y' })
})

t.test('nobody in particular, several backends: the name of the backend is in front', async t => {
  const several = holder(anonymous.key, [a, b])
  t.equal(handles.of({ backend: b, id: 'x~y' }, several), 'b~x~y')
  t.same(handles.read('b~x~y', several), { backend: b, id: 'x~y' })
  for (const foreign of ['', 'x', '~x', 'c~x']) t.equal(handles.read(foreign, several), undefined)
})

t.test('principals: a handle proves whose it is, on every instance that has the key (S7)', async t => {
  const alice = holder('alice', [a, b])
  const handle = handles.of({ backend: b, id: '~' }, alice)
  t.equal(handles.of({ backend: b, id: '~' }, alice), handle, 'clients find again what they know')
  t.same(new ModernHandles(new Sealer(secret)).read(handle, alice), { backend: b, id: '~' })
  t.equal(new ModernHandles(new Sealer()).read(handle, alice), undefined)
  t.equal(handles.read(handle, holder('bob', [a, b])), undefined)
  for (let at = 0; at < handle.length; at++) {
    const changed = `${handle.slice(0, at)}${handle[at] === 'a' ? 'b' : 'a'}${handle.slice(at + 1)}`
    t.equal(handles.read(changed, alice), undefined, changed)
  }
  t.equal(handles.read(`${handle}~`, alice), undefined, 'another id')
  for (const foreign of ['b~~', 'b~x', 'b', '~']) t.equal(handles.read(foreign, alice), undefined)
})
