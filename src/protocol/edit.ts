/** Changes to a message: splices of one span. Kind, method and every other span stay as they are. */
import type { Edit, Message } from './message.ts'
import type { Members } from './scan.ts'

/** The message with another id (JSON text). Responses without an id get one. */
export function withId(message: Message, id: string): Message {
  if (message.id === id) return message
  const edited = setMember(message, message.scanned.top, 'id', id)
  return { ...edited, id }
}

/** The message with `params.<key>` set to a JSON text. `params` must be there. */
export const withParam = (message: Message, key: string, json: string): Message =>
  setMember(message, need(message.scanned.params), key, json)

/** The message with `params._meta.<key>` set to a JSON text. `params._meta` must be there. */
export const withMeta = (message: Message, key: string, json: string): Message =>
  setMember(message, need(message.scanned.meta), key, json)

/** The message with a top-level member set to a JSON text. */
export const withMember = (message: Message, key: string, json: string): Message =>
  setMember(message, message.scanned.top, key, json)

function need(members: Members | undefined): Members {
  if (members === undefined) throw new TypeError('the message has no such object')
  return members
}

function setMember(message: Message, members: Members, key: string, json: string): Message {
  const i = members.keys.indexOf(key)
  if (i !== -1) return splice(message, { start: members.spans[2 * i]!, end: members.spans[2 * i + 1]!, text: json })
  const at = members.start + 1
  const text = `${JSON.stringify(key)}:${json}${members.keys.length === 0 ? '' : ','}`
  return splice(message, { start: at, end: at, text })
}

/** Adds one edit; an earlier edit of the same span is replaced. */
export function splice(message: Message, edit: Edit): Message {
  if (message.edits.length === 0) return { ...message, edits: [edit] }
  const edits = message.edits.filter(
    other => !(other.start === edit.start && other.end === edit.end && edit.end > edit.start)
  )
  edits.push(edit)
  edits.sort((a, b) => a.start - b.start || a.end - b.end)
  return { ...message, edits }
}
