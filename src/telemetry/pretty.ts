/** Log lines for people: `12:34:56.789 info  request  route=/mcp status=200 durMs=3.1`. */
import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

const styles: Readonly<Record<string, Style>> = {
  trace: 'gray',
  debug: 'gray',
  info: 'green',
  warn: 'yellow',
  error: 'red',
  fatal: 'red'
}

/** Whatever could move the cursor, hide text or turn its direction: names and messages are chosen by peers. */
const unsafe = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g
const escaped = (text: string): string =>
  text.replace(unsafe, c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)

const plain = /^[^\s"=]+$/

const shown = (value: unknown): string => {
  if (typeof value === 'string') return escaped(plain.test(value) ? value : JSON.stringify(value))
  return escaped(JSON.stringify(value))
}

const time = (ms: number): string => {
  const date = new Date(ms)
  const two = (n: number): string => String(n).padStart(2, '0')
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(ms % 1000).padStart(3, '0')}`
}

/** Turns JSON lines into lines for people, with colours if asked for. */
export const prettyLines =
  (colours: boolean): ((lines: string) => string) =>
  lines => {
    const paint = (style: Style, text: string): string =>
      colours ? styleText(style, text, { validateStream: false }) : text
    return lines
      .split('\n')
      .filter(line => line !== '')
      .map(line => {
        const { level, time: at, msg, error, ...rest } = JSON.parse(line) as Record<string, unknown>
        const { stack, ...fault } =
          typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {}
        const fields = Object.entries({ ...rest, error: typeof error === 'object' ? undefined : error, ...fault })
          .filter(([, value]) => value !== undefined)
          .map(([key, value]) => paint('gray', `${key}=`) + shown(value))
        const head = `${paint('gray', time(Number(at)))} ${paint(styles[String(level)] ?? 'white', String(level).padEnd(5))}`
        const trace = typeof stack === 'string' ? stack.split('\n').slice(1).map(escaped) : []
        return `${[head, escaped(String(msg ?? '')), ...fields].join(' ')}\n${trace.map(at => `${at}\n`).join('')}`
      })
      .join('')
  }
