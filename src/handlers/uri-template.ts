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
  readonly id: number
  readonly piece: Piece
  readonly next: Node | undefined
  /** First piece of an optional one. */
  readonly inside: Node | undefined
}

/** Longer URIs match nothing: the time grows with the square of the length. */
const maxUri = 2_048

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
  let ids = 0
  const chain = (list: readonly Piece[], end: Node | undefined): Node | undefined =>
    list.reduceRight<Node | undefined>((next, piece) => {
      const inside = piece.kind === 'optional' ? chain(piece.pieces, next) : undefined
      return { id: ids++, piece, next, inside }
    }, end)
  const first = chain(pieces, undefined)
  return {
    names,
    match(uri) {
      if (uri.length > maxUri) return undefined
      const values: Record<string, string> = {}
      return matches(first, uri, 0, values, new Set()) ? values : undefined
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

/** `dead`: places (node and offset) that led nowhere; none is tried twice. */
function matches(
  node: Node | undefined,
  uri: string,
  at: number,
  values: Record<string, string>,
  dead: Set<number>
): boolean {
  if (node === undefined) return at === uri.length
  const place = node.id * (maxUri + 1) + at
  if (dead.has(place)) return false
  if (tries(node, uri, at, values, dead)) return true
  dead.add(place)
  return false
}

function tries(node: Node, uri: string, at: number, values: Record<string, string>, dead: Set<number>): boolean {
  const { piece, next } = node
  if (piece.kind === 'text') {
    return uri.startsWith(piece.text, at) && matches(next, uri, at + piece.text.length, values, dead)
  }
  if (piece.kind === 'optional') {
    return matches(node.inside, uri, at, values, dead) || matches(next, uri, at, values, dead)
  }
  if (piece.kind === 'query') return matches(next, uri, query(piece.first, piece.names, uri, at, values), values, dead)
  let end = at
  while (end < uri.length && (piece.reserved || !'/?#'.includes(uri[end]!))) end++
  for (; end > at; end--) {
    const value = decode(uri.slice(at, end))
    if (value === undefined || !matches(next, uri, end, values, dead)) continue
    values[piece.name] = value
    return true
  }
  return false
}

/** Reads `?a=1&b=2` as far as its names are known. Returns where it ends. */
function query(
  first: string,
  names: readonly string[],
  uri: string,
  start: number,
  values: Record<string, string>
): number {
  let separator = first
  let at = start
  while (uri[at] === separator) {
    const ends = ['&', '#'].map(end => uri.indexOf(end, at + 1)).filter(end => end !== -1)
    const end = Math.min(uri.length, ...ends)
    const [name = '', ...rest] = uri.slice(at + 1, end).split('=')
    const value = decode(rest.join('='))
    if (!names.includes(name) || value === undefined) break
    values[name] = value
    at = end
    separator = '&'
  }
  return at
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
