/** Changes to a message: splices of one span. Kind, method and every other span stay as they are. */
import { space } from './grammar.ts'
import type { Edit, Message } from './message.ts'
import type { Members } from './scan.ts'

/** The message with another id (JSON text). Responses without an id get one. */
export function withId(message: Message, id: string): Message {
  if (message.id === id) return message
  const { kind, method, source, scanned } = message
  return { kind, id, method, source, scanned, edits: setMember(message, scanned.top, 'id', id).edits }
}

/** The message with `params.<key>` set to a JSON text. `params` must be there. */
export const withParam = (message: Message, key: string, json: string): Message =>
  setMember(message, need(message.scanned.params), key, json)

/** The message with `params._meta.<key>` set to a JSON text. `params._meta` must be there. */
export const withMeta = (message: Message, key: string, json: string): Message =>
  setMember(message, need(message.scanned.meta), key, json)

/** JSON text of `params.<key>` as it is with the edits made so far. */
export function editedParam({ source, scanned: { params }, edits }: Message, key: string): string | undefined {
  const i = params === undefined ? -1 : params.keys.indexOf(key)
  if (i === -1) return undefined
  const start = params!.spans[2 * i]!
  const end = params!.spans[2 * i + 1]!
  const edit = edits.find(edit => edit.start === start && edit.end === end)
  return edit?.text ?? source.toString('utf8', start, end)
}

/** The message with a top-level member set to a JSON text. */
export const withMember = (message: Message, key: string, json: string): Message =>
  setMember(message, message.scanned.top, key, json)

/** The message without some of the members of one of its objects. */
export function without(
  message: Message,
  { keys, spans, start, end }: Members,
  unwanted: ReadonlySet<string>
): Message {
  let result = message
  let first = 0
  while (first < keys.length && unwanted.has(keys[first]!)) first++
  if (first > 0) {
    // With the comma that follows, where something does.
    const last = spans[2 * first - 1]!
    const to = first === keys.length ? end - 1 : space(message.source, last) + 1
    result = splice(result, { start: start + 1, end: to, text: '' })
  }
  for (let i = first; i < keys.length; i++) {
    if (unwanted.has(keys[i]!)) result = splice(result, { start: spans[2 * i - 1]!, end: spans[2 * i + 1]!, text: '' })
  }
  return result
}

function need(members: Members | undefined): Members {
  if (members === undefined) throw new TypeError('the message has no such object')
  return members
}

function setMember(message: Message, members: Members, key: string, json: string): Message {
  const i = members.keys.indexOf(key)
  if (i !== -1) return splice(message, { start: members.spans[2 * i]!, end: members.spans[2 * i + 1]!, text: json })
  return insert(message, members, `${JSON.stringify(key)}:`, json)
}

/** New members go first, the latest before the others, so that only the first of them may lack its comma. */
function insert(message: Message, members: Members, name: string, json: string): Message {
  const at = members.start + 1
  const isHere = (edit: Edit): boolean => edit.start === at && edit.end === at
  const set = message.edits.find(edit => isHere(edit) && edit.text.startsWith(name))
  const isLast = set === undefined ? !message.edits.some(isHere) : !set.text.endsWith(',')
  const text = `${name}${json}${isLast && members.keys.length === 0 ? '' : ','}`
  const edit: Edit = { start: at, end: at, text }
  if (set !== undefined) return { ...message, edits: message.edits.map(other => (other === set ? edit : other)) }
  return splice(message, edit)
}

/**
 * Adds one edit. Earlier edits inside its span go with what they changed; of two insertions in one place the later stands
 * first. Throws TypeError when it lies inside an earlier edit's span, or across its border: the offsets are those of the
 * source, where the new text does not stand.
 */
export function splice(message: Message, edit: Edit): Message {
  if (message.edits.length === 0) return { ...message, edits: [edit] }
  const edits = [edit]
  for (const other of message.edits) {
    if (isInside(other, edit)) continue
    if (other.start < edit.end && edit.start < other.end) throw new TypeError('an edit of text that was replaced')
    edits.push(other)
  }
  edits.sort((a, b) => a.start - b.start || a.end - b.end)
  return { ...message, edits }
}

/** What is inserted at the border of a span is not inside it. */
function isInside(inner: Edit, outer: Edit): boolean {
  if (inner.start === inner.end) return inner.start > outer.start && inner.end < outer.end
  return inner.start >= outer.start && inner.end <= outer.end
}
