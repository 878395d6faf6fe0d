/** What the scripted client says when a handler asks it. */
import type { Root } from '../handlers/content.ts'
import type { SampleOptions, SampleResult } from '../handlers/context.ts'
import { ClientError } from '../handlers/errors.ts'

export type ElicitAnswer =
  | 'decline'
  | 'cancel'
  | { readonly action: 'accept' | 'decline' | 'cancel'; readonly content?: Readonly<Record<string, unknown>> }

/** `params` of `elicitation/create`: a form has `requestedSchema`, an address `url`. */
export interface ElicitRequest {
  readonly message: string
  readonly mode?: 'form' | 'url'
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  readonly requestedSchema?: any
  readonly url?: string
  readonly elicitationId?: string
}

/** The answer itself, or what makes it of the request. What it throws is the client's error (a ClientError has a code). */
export type Scripted<Answer, Request> = Answer | ((request: Request) => Answer | Promise<Answer>)

export interface Answers {
  readonly elicit?: Scripted<ElicitAnswer, ElicitRequest>
  /** Text is a message of the model. */
  readonly sample?: Scripted<string | SampleResult, SampleOptions>
  readonly roots?: Scripted<readonly Root[], undefined>
}

/** A client that can do what it has an answer for. */
export const capabilitiesOf = ({ elicit, sample, roots }: Answers): Readonly<Record<string, unknown>> => ({
  ...(elicit === undefined ? {} : { elicitation: { form: {}, url: {} } }),
  ...(sample === undefined ? {} : { sampling: { tools: {} } }),
  ...(roots === undefined ? {} : { roots: { listChanged: true } })
})

/** The result of a request of the handler. Rejects with what the script throws, or with a ClientError -32601. */
export async function answerTo(method: string, params: unknown, answers: Answers): Promise<unknown> {
  const { elicit, sample, roots } = answers
  if (method === 'elicitation/create' && elicit !== undefined) {
    const answer = await said(elicit, params as ElicitRequest)
    return typeof answer === 'string' ? { action: answer } : answer
  }
  if (method === 'sampling/createMessage' && sample !== undefined) {
    const answer = await said(sample, params as SampleOptions)
    if (typeof answer !== 'string') return answer
    return { role: 'assistant', content: { type: 'text', text: answer }, model: 'test', stopReason: 'endTurn' }
  }
  if (method === 'roots/list' && roots !== undefined) return { roots: await said(roots, undefined) }
  throw new ClientError(-32601, `The test has no answer to ${method}.`)
}

const said = <Answer, Request>(scripted: Scripted<Answer, Request>, request: Request): Answer | Promise<Answer> =>
  typeof scripted === 'function' ? (scripted as (request: Request) => Answer | Promise<Answer>)(request) : scripted
