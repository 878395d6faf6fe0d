import * as z from 'zod'

/** Longer than this a Node timer fires at once, so no duration may be. */
const longestTimer = 2 ** 31 - 1

/** Both from the smallest unit up. */
const milliseconds = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
const bytes = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

type Units = Readonly<Record<string, number>>

const decode = (text: string, units: Units): number => {
  const [, digits = '', unit = ''] = /^(\d+)([A-Za-z]+)$/.exec(text) ?? []
  return Number(digits) * (units[unit] ?? Number.NaN)
}

/** In the largest unit that leaves no fraction. */
const encode = (amount: number, units: Units): string => {
  const [unit = '', factor = 1] = Object.entries(units).findLast(([, factor]) => amount % factor === 0) ?? []
  return `${amount / factor}${amount === 0 ? 's' : unit}`
}

/** `250ms`, `60s`, `5m`, `1h`; gives milliseconds. Zero needs `{ zero: true }`: for most settings it is a mistake. */
export const duration = ({ zero = false } = {}) =>
  z.codec(
    z
      .string('expected a duration such as 30s')
      .regex(/^\d+(ms|s|m|h)$/, 'expected a duration such as 250ms, 30s, 5m or 1h'),
    z
      .number()
      .refine(
        ms => (zero || ms > 0) && ms <= longestTimer,
        `expected a duration ${zero ? 'of' : 'above 0,'} 24 days at most`
      ),
    { decode: text => decode(text, milliseconds), encode: ms => encode(ms, milliseconds) }
  )

/** Bytes as a size in the largest unit that fits. */
export const formatSize = (count: number): string => encode(count, bytes)

/** `64KiB`, `4MiB`; gives bytes. */
export const size = () =>
  z.codec(
    z
      .string('expected a size such as 4MiB')
      .regex(/^\d+(B|KiB|MiB|GiB)$/, 'expected a size such as 512B, 64KiB, 4MiB or 1GiB'),
    z.number().refine(count => count > 0 && count <= 2 ** 40, 'expected a size above 0, 1024GiB at most'),
    { decode: text => decode(text, bytes), encode: formatSize }
  )

/** A whole number with bounds. */
export const whole = (least: number, most: number) => {
  const expected = `expected a whole number from ${least} to ${most}`
  return z.int(expected).min(least, expected).max(most, expected)
}

/** A word that switches something off; gives undefined. */
export const off = <const Word extends string | false>(word: Word) =>
  z.codec(z.literal(word), z.undefined(), {
    decode: () => undefined,
    encode: () => word as z.core.util.Writeable<Word>
  })

/** A share of a whole: above 0, 1 at most. */
export const fraction = () => {
  const expected = 'expected a number from 0.01 to 1'
  return z.number(expected).min(0.01, expected).max(1, expected)
}
