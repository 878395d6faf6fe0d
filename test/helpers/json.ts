/** JSON texts for property tests: as free in spacing and escapes as the grammar allows. */
import fc from 'fast-check'

export const spacing = fc.array(fc.constantFrom(' ', '\n', '\r', '\t', '\r\n', '  ', '', ''), {
  minLength: 1,
  maxLength: 9
})

/** Any string, the awkward ones more often. */
export const anyString = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.string({
    unit: fc.constantFrom('"', '\\', '\n', '\u0000', '\u001f', '\u2028', 'é', '🚲', '\ud800', 'a', '{', ','),
    maxLength: 80
  }),
  fc.constantFrom('', 'id', 'params', '_meta', '__proto__', 'constructor', 'x'.repeat(33))
)

/**
 * Names of members for texts that `JSON.parse` judges. V8 may take a name with an escape for an earlier one with a backslash
 * (nodejs/node#63785: `JSON.parse('{"x":1,"\\\\":2}')`, then `JSON.parse('{"x":1,"\\n":2}')`), so that none has one.
 */
export const anyKey = anyString.map(text => text.replaceAll('\\', '/'))

/** A JSON string for a string: each character as it is, or as one of its escapes. */
export function writeString(text: string, choices: readonly number[]): string {
  let out = '"'
  for (let i = 0; i < text.length; i++) {
    const plain = JSON.stringify(text[i]).slice(1, -1)
    const choice = choices.length === 0 ? 0 : (choices[i % choices.length] as number)
    const hex = text.charCodeAt(i).toString(16).padStart(4, '0')
    if (choice % 3 === 1) out += `\\u${hex}`
    else if (choice % 3 === 2) out += `\\u${hex.toUpperCase()}`
    // One half of a pair alone has no UTF-8, so that the pair stays together.
    else if (/[\ud800-\udbff]/.test(text[i] as string) && /[\udc00-\udfff]/.test(text[i + 1] ?? '')) {
      out += `${text[i]}${text[i + 1]}`
      i++
    } else out += plain
  }
  return `${out}"`
}

/** Texts of numbers, words, strings, arrays and objects (keys may stand twice), with spaces wherever they may stand. */
export const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(
      'true',
      'false',
      'null',
      '0',
      '-0',
      '1.0',
      '1e400',
      '-1.5E-7',
      '9007199254740993',
      '""',
      '{}',
      '[]'
    ),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(number => JSON.stringify(number)),
    fc.tuple(anyString, fc.array(fc.nat(5), { maxLength: 4 })).map(([text, choices]) => writeString(text, choices)),
    fc
      .tuple(fc.array(tie('value'), { maxLength: 5 }), spacing)
      .map(([values, s]) => `[${s[0]}${values.join(`${s.at(-1)},${s[0]}`)}${s[1] ?? ''}]`),
    fc.tuple(fc.array(fc.tuple(anyKey, tie('value')), { maxLength: 5 }), spacing).map(([members, s]) =>
      object(
        members.map(([key, value]) => [JSON.stringify(key), value]),
        s
      )
    )
  )
})).value

/** An object of member texts. */
export function object(members: readonly (readonly [string, string])[], s: readonly string[]): string {
  const space = (i: number): string => s[i % s.length] as string
  return `{${space(0)}${members.map(([key, value], i) => `${key}${space(i)}:${space(i + 1)}${value}${space(i + 2)}`).join(`,${space(3)}`)}}`
}
