/** What came back on a socket, as the responses that it is. */

export interface WireResponse {
  readonly status: number
  readonly head: string
  readonly body: string
}

export interface Responses {
  readonly all: readonly WireResponse[]
  /** What is no whole response. */
  readonly rest: string
}

/** Of Latin-1 text. `closed`: a body without a length ends with the text. `toHead`: the first answers HEAD. */
export function responsesIn(text: string, closed: boolean, toHead = false): Responses {
  const all: WireResponse[] = []
  let rest = text
  for (;;) {
    const found = /^HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n/.exec(rest)
    if (found === null) return { all, rest }
    const [whole, status, head] = found as unknown as [string, string, string]
    const body = bodyIn(rest.slice(whole.length), Number(status), head, closed, toHead && all.length === 0)
    if (body === undefined) return { all, rest }
    all.push({ status: Number(status), head, body: body.text })
    rest = rest.slice(whole.length + body.length)
  }
}

/** Undefined while it is not whole. */
function bodyIn(
  text: string,
  status: number,
  head: string,
  closed: boolean,
  bodiless: boolean
): { readonly text: string; readonly length: number } | undefined {
  if (bodiless || status < 200 || status === 204 || status === 304) return { text: '', length: 0 }
  if (/^transfer-encoding: chunked\r$/im.test(head)) return unchunked(text)
  const found = /^content-length: (\d+)\r$/im.exec(head)
  if (found === null) return closed ? { text, length: text.length } : undefined
  const length = Number(found[1])
  return text.length < length ? undefined : { text: text.slice(0, length), length }
}

function unchunked(text: string): { readonly text: string; readonly length: number } | undefined {
  let at = 0
  let body = ''
  for (;;) {
    const found = /^([0-9a-f]+)\r\n/.exec(text.slice(at, at + 20))
    if (found === null) return undefined
    const size = Number.parseInt(found[1]!, 16)
    const from = at + found[0].length
    at = from + size + 2
    if (text.slice(at - 2, at) !== '\r\n') return undefined
    if (size === 0) return { text: body, length: at }
    body += text.slice(from, from + size)
  }
}
