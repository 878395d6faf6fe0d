import t from 'tap'
import * as z from 'zod'
import { duration, formatSize, off, size } from '../../src/config/units.ts'

t.test('durations become milliseconds and back into the largest unit that fits', async t => {
  const cases = { '250ms': 250, '60s': 60_000, '90s': 90_000, '5m': 300_000, '1h': 3_600_000, '576h': 2_073_600_000 }
  for (const [text, ms] of Object.entries(cases)) t.equal(duration().parse(text), ms)
  t.equal(z.encode(duration(), 90_000), '90s')
  t.equal(z.encode(duration(), 60_000), '1m')
  t.equal(z.encode(duration({ zero: true }), 0), '0s')
})

t.test('no duration is one that a timer would cut to a millisecond (2^31 ms and more)', async t => {
  t.equal(duration().safeParse('2147483647ms').success, true)
  t.equal(duration().safeParse('2147483648ms').success, false)
})

t.test('zero is a duration only where it means something', async t => {
  t.equal(duration().safeParse('0ms').success, false)
  t.equal(duration({ zero: true }).parse('0s'), 0)
})

t.test('sizes become bytes and back into the largest unit that fits', async t => {
  const cases = { '512B': 512, '64KiB': 65_536, '4MiB': 4_194_304, '1GiB': 1_073_741_824 }
  for (const [text, bytes] of Object.entries(cases)) {
    t.equal(size().parse(text), bytes)
    t.equal(formatSize(bytes), text)
  }
  t.equal(formatSize(1025), '1025B')
})

t.test('only the units of the documentation are units', async t => {
  for (const text of ['1d', '1 s', '1S', '1e3s', '-1s', '+1s', '٣s', '1s\n', '']) {
    t.equal(duration().safeParse(text).success, false, JSON.stringify(text))
  }
  for (const text of ['1KB', '1k', '1mib', '1 MiB', '0x1B', '']) t.equal(size().safeParse(text).success, false, text)
})

t.test('a word that switches off becomes undefined, and back', async t => {
  t.equal(off('off').parse('off'), undefined)
  t.equal(z.encode(off(false), undefined), false)
})
