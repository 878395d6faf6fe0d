import t from 'tap'
import * as version from '../../src/protocol/version.ts'

t.test('R1: the revisions that are spoken, oldest first', async t => {
  t.same(version.legacyVersions, ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])
  t.same([...version.legacyVersions].sort(), version.legacyVersions)
  t.equal(version.latestLegacy, version.legacyVersions.at(-1))
  for (const each of version.legacyVersions) t.ok(version.isVersion(each))
  for (const each of ['', '2025-03-27', '2025-11-25 ', '2026-07-28', '1.0', 'latest'])
    t.notOk(version.isVersion(each), each)
})

t.test('a date from 2026-07-28 on is of the modern era', async t => {
  for (const each of ['2026-07-28', '2026-12-01', '2099-01-01']) t.ok(version.isModern(each), each)
  for (const each of ['2025-11-25', '2026-07-27', '2026-07-28x', 'x2026-07-28', '2026-7-28', '', 'DRAFT', '9999']) {
    t.notOk(version.isModern(each), each)
  }
})

t.test('R2, R3, D1, R18: what each revision has', async t => {
  const since = (from: string): boolean[] => version.legacyVersions.map(each => each >= from)
  const only = (one: string): boolean[] => version.legacyVersions.map(each => each === one)
  const rows: [(version: string) => boolean, boolean[]][] = [
    [version.hasBatch, only('2025-03-26')],
    [version.hasAudio, since('2025-03-26')],
    [version.hasResourceLink, since('2025-06-18')],
    [version.hasStructuredContent, since('2025-06-18')],
    [version.hasElicitation, since('2025-06-18')],
    [version.hasPriming, since('2025-11-25')],
    [version.hasElicitationMode, since('2025-11-25')],
    [version.hasSamplingArrays, since('2025-11-25')],
    [version.hasTasks, only('2025-11-25')]
  ]
  for (const [has, expected] of rows) t.same(version.legacyVersions.map(has), expected, has.name)
})
