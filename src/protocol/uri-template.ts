/** URI templates (RFC 6570, levels 1 to 3), matched by hand: no expression of an author or a client becomes a regular one. */

export interface UriTemplate {
  readonly names: readonly string[]
  /** The variables of a URI that the template can make, decoded; undefined when it cannot. */
  match(uri: string): Record<string, string> | undefined
}

type Piece =
  | { readonly kind: 'text'; readonly text: string }
  /** `reserved`: may hold `/`, `?` and `#`. */
  | { readonly kind: 'variable'; readonly name: string; readonly reserved: boolean }
  /** There or not there: an operator's text and variables vanish when they are undefined. */
  | { readonly kind: 'optional'; readonly pieces: readonly Piece[] }
  /** `{?a,b}` or `{&a,b}`: by name, in any order. */
  | { readonly kind: 'query'; readonly first: string; readonly names: readonly string[] }

/** Pieces chained up, so that a place in the template is one node. */
interface Node {
  readonly piece: Piece
  readonly next: Node | undefined
  /** First piece of an optional one. */
  readonly inside: Node | undefined
}

/** Longer URIs match nothing. */
const maxUri = 2_048
/** Places that one match may try; what is not found by then matches nothing. A template that is meant well needs a few. */
const maxSteps = 20_000

/** Throws a TypeError for what is no template of these levels. */
export function parseTemplate(template: string): UriTemplate {
  const pieces: Piece[] = []
  const names: string[] = []
  let at = 0
  while (at < template.length) {
    const open = template.indexOf('{', at)
    const text = template.slice(at, open === -1 ? undefined : open)
    if (text.includes('}')) throw new TypeError(`URI template "${template}": a "}" without "{"`)
    if (text !== '') pieces.push({ kind: 'text', text })
    if (open === -1) break
    const close = template.indexOf('}', open)
    if (close === -1) throw new TypeError(`URI template "${template}": a "{" without "}"`)
    pieces.push(...expression(template, template.slice(open + 1, close), names))
    at = close + 1
  }
  const chain = (list: readonly Piece[], end: Node | undefined): Node | undefined =>
    list.reduceRight<Node | undefined>((next, piece) => {
      const inside = piece.kind === 'optional' ? chain(piece.pieces, next) : undefined
      return { piece, next, inside }
    }, end)
  const first = chain(pieces, undefined)
  return {
    names,
    match(uri) {
      if (uri.length > maxUri) return undefined
      const found = new Match(uri)
      return found.from(first, 0) ? decoded(found.values) : undefined
    }
  }
}

function expression(template: string, body: string, names: string[]): Piece[] {
  const operator = body !== '' && '+#./;?&'.includes(body[0]!) ? body[0]! : ''
  const own = body.slice(operator.length).split(',')
  for (const name of own) {
    if (/[:*]/.test(name))
      throw new TypeError(`URI template "${template}": "${name}" is of level 4, which is not served`)
    if (!/^[\w.%]+$/.test(name)) throw new TypeError(`URI template "${template}": "${name}" is no variable`)
    if (names.includes(name)) throw new TypeError(`URI template "${template}": "${name}" stands twice`)
    names.push(name)
  }
  if (operator === '?' || operator === '&') return [{ kind: 'query', first: operator, names: own }]
  const variables = own.map(
    (name): Piece => ({ kind: 'variable', name, reserved: operator === '+' || operator === '#' })
  )
  if (operator === '' || operator === '+') return separated(variables)
  if (operator === '#') return [{ kind: 'optional', pieces: [{ kind: 'text', text: '#' }, ...separated(variables)] }]
  return own.map((name, i) => ({
    kind: 'optional',
    pieces: [{ kind: 'text', text: operator === ';' ? `;${name}=` : operator }, variables[i]!]
  }))
}

const separated = (variables: readonly Piece[]): Piece[] =>
  variables.flatMap((variable, i): Piece[] => (i === 0 ? [variable] : [{ kind: 'text', text: ',' }, variable]))

class Match {
  /** Not decoded. */
  readonly values: Record<string, string> = {}
  readonly #uri: string
  #steps = 0

  constructor(uri: string) {
    this.#uri = uri
  }

  /** Whether the rest of the URI, from `at`, is what the nodes can make. */
  from(node: Node | undefined, at: number): boolean {
    if (++this.#steps > maxSteps) return false
    if (node === undefined) return at === this.#uri.length
    const { piece, next } = node
    if (piece.kind === 'text') {
      return this.#uri.startsWith(piece.text, at) && this.from(next, at + piece.text.length)
    }
    if (piece.kind === 'optional') return this.from(node.inside, at) || this.from(next, at)
    if (piece.kind === 'query') return this.from(next, this.#query(piece.first, piece.names, at))
    let end = at
    while (end < this.#uri.length && (piece.reserved || !'/?#'.includes(this.#uri[end]!))) end++
    for (; end > at; end--) {
      if (!this.from(next, end)) continue
      this.values[piece.name] = this.#uri.slice(at, end)
      return true
    }
    return false
  }

  /** Reads `?a=1&b=2` as far as its names are known. Returns where it ends. */
  #query(first: string, names: readonly string[], start: number): number {
    const uri = this.#uri
    let separator = first
    let at = start
    while (uri[at] === separator) {
      const ends = ['&', '#'].map(end => uri.indexOf(end, at + 1)).filter(end => end !== -1)
      const end = Math.min(uri.length, ...ends)
      const [name = '', ...rest] = uri.slice(at + 1, end).split('=')
      if (!names.includes(name)) break
      this.values[name] = rest.join('=')
      at = end
      separator = '&'
    }
    return at
  }
}

/** Undefined when one is no percent-encoded UTF-8. */
function decoded(values: Record<string, string>): Record<string, string> | undefined {
  try {
    return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, decodeURIComponent(value)]))
  } catch {
    return undefined
  }
}
