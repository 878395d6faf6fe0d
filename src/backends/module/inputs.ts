/**
 * The keys of what one call asks its client, and the answers that came with its request (2026-07-28 basic/patterns/mrtr,
 * "InputRequests", "InputResponses"; decisions: "`inputRequests` keys", "`inputResponses`").
 */
import { ProtocolError } from '../../handlers/errors.ts'

/** What the author calls it, by its method. */
const kinds: Readonly<Record<string, string>> = {
  'elicitation/create': 'elicit',
  'sampling/createMessage': 'sample',
  'roots/list': 'roots'
}

const maxKey = 100

export class Inputs {
  readonly #answers: Map<string, unknown>
  readonly #counts = new Map<string, number>()

  /** `responses`: `params.inputResponses` of the request. Throws ProtocolError -32602 for what is none. */
  constructor(responses: unknown) {
    if (!isAnswer(responses ?? {})) throw new ProtocolError(-32602, '"params.inputResponses" must be an object.')
    const answers = Object.entries((responses ?? {}) as object).filter(([, answer]) => answer !== null)
    const wrong = answers.find(([, answer]) => !isAnswer(answer))?.[0]
    if (wrong !== undefined) {
      throw new ProtocolError(-32602, `"params.inputResponses[${JSON.stringify(wrong)}]" must be an object.`)
    }
    this.#answers = new Map(answers)
  }

  /** Of the next question: `chosen`, or its kind and a number. Throws for a key that is none, or that an open question has. */
  key(method: string, chosen: string | undefined, isOpen: (key: string) => boolean): string {
    if (chosen !== undefined) {
      if (typeof chosen !== 'string' || chosen === '' || chosen.length > maxKey) {
        throw new TypeError(`The key of a question must be a text of 1 to ${maxKey} characters.`)
      }
      if (isOpen(chosen)) throw new Error(`A question with the key "${chosen}" waits for its answer already.`)
      return chosen
    }
    const kind = kinds[method] ?? 'input'
    for (;;) {
      const count = (this.#counts.get(kind) ?? 0) + 1
      this.#counts.set(kind, count)
      const key = `${kind}-${count}`
      if (!isOpen(key)) return key
    }
  }

  /** The answer that came for a question, once; undefined: the client has to be asked. */
  take(key: string): unknown {
    const answer = this.#answers.get(key)
    this.#answers.delete(key)
    return answer
  }
}

const isAnswer = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
