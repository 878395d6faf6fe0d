import * as z from 'zod'

/** Longer than this a Node timer fires at once, so no duration may be. */
const longestTimer = 2 ** 31 - 1

const milliseconds: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
const bytes: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

const amount = (text: string, units: Readonly<Record<string, number>>): number => {
  const [, digits = '', unit = ''] = /^(\d+)([A-Za-z]+)$/.exec(text) ?? []
  return Number(digits) * (units[unit] ?? Number.NaN)
}

/** `250ms`, `60s`, `5m`, `1h`; gives milliseconds. Zero needs `{ zero: true }`: for most settings it is a mistake. */
export const duration = ({ zero = false } = {}) =>
  z
    .string('expected a duration such as 30s')
    .regex(/^\d+(ms|s|m|h)$/, 'expected a duration such as 250ms, 30s, 5m or 1h')
    .transform(text => amount(text, milliseconds))
    .refine(
      ms => (zero || ms > 0) && ms <= longestTimer,
      `expected a duration ${zero ? 'of' : 'above 0,'} 24 days at most`
    )

/** `64KiB`, `4MiB`; gives bytes. */
export const size = () =>
  z
    .string('expected a size such as 4MiB')
    .regex(/^\d+(B|KiB|MiB|GiB)$/, 'expected a size such as 512B, 64KiB, 4MiB or 1GiB')
    .transform(text => amount(text, bytes))
    .refine(count => count > 0 && count <= Number.MAX_SAFE_INTEGER, 'expected a size above 0')

/** A whole number with bounds. */
export const whole = (least: number, most: number) => {
  const expected = `expected a whole number from ${least} to ${most}`
  return z.int(expected).min(least, expected).max(most, expected)
}
