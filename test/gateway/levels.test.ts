import t from 'tap'
import { isLevel, lowestOf, passes } from '../../src/gateway/levels.ts'

const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

t.test('the eight levels of RFC 5424, and nothing else', async t => {
  for (const level of levels) t.ok(isLevel(level))
  for (const other of ['', 'Debug', 'warn', 'fatal', 'constructor']) t.notOk(isLevel(other))
})

t.test('what passes which threshold: 8 by 8 (R101c)', async t => {
  for (const [l, level] of levels.entries()) {
    for (const [h, threshold] of levels.entries()) t.equal(passes(level, threshold), l >= h, `${level} at ${threshold}`)
  }
  t.ok(passes('vendor', 'emergency'), 'what is no level is not ours to judge')
})

t.test('the lowest of several, where none is set that is warning', async t => {
  t.equal(lowestOf(['error', 'debug', 'alert']), 'debug')
  t.equal(lowestOf(['error', undefined]), 'warning')
  t.equal(lowestOf(['info', undefined]), 'info')
  t.equal(lowestOf([undefined]), 'warning')
})
