/** What a JSON text says, whichever way it is written: members by name, strings without needless escapes, numbers as they were. */
import { eachMember, elements, find } from './find.ts'

/** Of the value that begins at `start`; the text was scanned before. */
export function canonical(bytes: Buffer, start: number): string {
  switch (bytes[start]) {
    case 0x7b: {
      const members: string[] = []
      eachMember(bytes, start, (key, from) => members.push(`${JSON.stringify(key)}:${canonical(bytes, from)}`))
      return `{${members.sort().join()}}`
    }
    case 0x5b:
      return `[${elements(bytes, start)!
        .map(element => canonical(bytes, element.start))
        .join()}]`
    default: {
      const text = bytes.toString('utf8', start, find(bytes, start, [])!.end)
      return bytes[start] === 0x22 ? JSON.stringify(JSON.parse(text)) : text
    }
  }
}
