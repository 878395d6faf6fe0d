import t from 'tap'
import { checkAnnotations } from '../../src/handlers/annotations.ts'
import type { Annotations } from '../../src/handlers/define.ts'

function check(annotations: Record<string, unknown>): { kept: unknown; warned: number } {
  let warned = 0
  const kept = checkAnnotations(annotations as Annotations, () => warned++)
  return { kept, warned }
}

t.test('R170: a priority outside 0 to 1 is warned of and kept; what JSON cannot say is left out', async t => {
  for (const priority of [0, 0.5, 1]) t.strictSame(check({ priority }), { kept: { priority }, warned: 0 })
  for (const priority of [-0.1, 1.5, '0.5']) t.strictSame(check({ priority }), { kept: { priority }, warned: 1 })
  for (const priority of [Number.NaN, Number.POSITIVE_INFINITY]) {
    t.strictSame(check({ priority }), { kept: undefined, warned: 1 })
  }
})

t.test('R171: a lastModified that is no date of ISO 8601 is warned of and kept', async t => {
  for (const lastModified of [
    '2025-01-12T15:00:58Z',
    '2025-01-12',
    '2025-01-12T15:00:58.123Z',
    '2025-01-12T15:00:58+02:00'
  ]) {
    t.strictSame(check({ lastModified }), { kept: { lastModified }, warned: 0 })
  }
  for (const lastModified of ['yesterday', '2025-13-40', 7, 'Jan 12 2025']) {
    t.strictSame(check({ lastModified }), { kept: { lastModified }, warned: 1 })
  }
})

t.test('R172: an audience of others than user and assistant is warned of and kept', async t => {
  for (const audience of [['user'], ['user', 'assistant']]) {
    t.strictSame(check({ audience }), { kept: { audience }, warned: 0 })
  }
  for (const audience of [['admin'], 'user']) t.strictSame(check({ audience }), { kept: { audience }, warned: 1 })
})

t.test('R173, R175: an empty audience is none; without anything there are no annotations', async t => {
  t.strictSame(check({ audience: [] }), { kept: undefined, warned: 0 })
  t.strictSame(check({ audience: [], priority: 1 }), { kept: { priority: 1 }, warned: 0 })
  t.strictSame(check({ audience: null, priority: undefined, lastModified: null }), { kept: undefined, warned: 0 })
  t.strictSame(check({}), { kept: undefined, warned: 0 })
})

t.test('R176: unknown members pass', async t => {
  t.strictSame(check({ 'x-y': [1], priority: 9 }), { kept: { 'x-y': [1], priority: 9 }, warned: 1 })
})
