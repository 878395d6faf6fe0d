/** How a program that was just started is met: asked for its era, where that is not known, and shaken hands with (decisions: "Which era a backend has"). */
import { GatewayError } from '../../errors.ts'
import { asInitializeResult, type Discovered } from '../../protocol/discovered.ts'
import type { Asking } from '../../protocol/envelope.ts'
import type { Era } from '../../protocol/version.ts'
import type { Server } from '../backend.ts'
import type { Correlator } from '../correlate.ts'
import { askEra } from '../discover.ts'
import { legacyVerdict, type Verdict } from '../era.ts'
import { type Handshake, handshake } from '../handshake.ts'
import { unlessAborted } from '../unless-aborted.ts'

export interface Start extends Omit<Handshake, 'backend' | 'receive'> {
  /** What it is taken for; undefined: it is asked. */
  readonly era: Era | undefined
  /** Whether that is settled. */
  readonly fixed: boolean
}

export interface Meeting extends Start, Pick<Handshake, 'backend' | 'receive'> {
  /** Who the gateway is, for requests of its own. */
  readonly self: Asking
  /** The program came to nothing because of the question: a new one is of this era. */
  readonly spoiled: (era: Era) => void
}

export interface Met {
  readonly verdict: Verdict
  readonly server: Server
}

/** So long (ms) a program may be silent when it is asked for its era, before hands are shaken beside that. */
const silenceMs = 2_000
/** So long (ms) one answer may come after the other. */
const graceMs = 2_000

/** Rejects with a GatewayError. A program that is modern as far as is known gets all the time for its answer. */
export async function meet(pipe: Correlator, meeting: Meeting): Promise<Met> {
  const { era, fixed, timeoutMs, signal, backend, self } = meeting
  if (era === 'legacy') return await shake(pipe, meeting)
  const question = askEra(pipe, backend, self)
  const { verdict } = question
  let broke = false
  verdict.catch(() => {
    broke = true
  })
  try {
    const patience = era === undefined ? Math.min(silenceMs, timeoutMs / 2) : timeoutMs
    const found = await unlessAborted(within(verdict, patience), signal)
    if (found?.era === 'modern') return modern(pipe, found.discovered, backend)
    if (found !== undefined) {
      if (fixed) refuse(backend, 'it does not speak a modern version')
      return await shake(pipe, meeting)
    }
    if (era !== undefined) refuse(backend, 'it did not answer server/discover in time', 'timeout')
    return await shakeBeside(pipe, verdict, meeting)
  } catch (error) {
    if (broke && !fixed && !(error instanceof GatewayError && error.code === 'backend_invalid'))
      meeting.spoiled('legacy')
    throw error
  } finally {
    question.giveUp()
  }
}

function modern(pipe: Correlator, discovered: Discovered, backend: string): Met {
  pipe.speakModern()
  const { version, capabilities, text, at } = discovered
  const result = asInitializeResult(discovered, backend)
  const server = { version, capabilities, result, discovered: text, discoveredAt: at }
  return { verdict: { era: 'modern', discovered }, server }
}

const shake = async (pipe: Correlator, meeting: Meeting): Promise<Met> => ({
  verdict: legacyVerdict,
  server: await handshake(pipe, meeting)
})

/**
 * It may be a legacy program that is silent about what it does not know, or a modern one that is slow to start. Who refuses
 * `initialize` can be used all the same; who takes both may have made up its mind.
 */
async function shakeBeside(pipe: Correlator, verdict: Promise<Verdict>, meeting: Meeting): Promise<Met> {
  const shaken = shake(pipe, meeting)
  const outcome = shaken.then(
    () => 'shaken' as const,
    () => 'refused' as const
  )
  const found = verdict.catch(() => legacyVerdict)
  if ((await Promise.race([found, outcome])) === 'refused') await within(found, graceMs)
  const first = await Promise.race([found, outcome])
  if (typeof first === 'string' || first.era === 'legacy') return await shaken
  if ((await within(outcome, graceMs)) !== 'shaken') return modern(pipe, first.discovered, meeting.backend)
  meeting.spoiled('modern')
  return refuse(meeting.backend, 'it took initialize for what it means, although it is modern')
}

function refuse(backend: string, text: string, code: 'backend_unavailable' | 'timeout' = 'backend_unavailable'): never {
  throw new GatewayError(code, `backend "${backend}": ${text}`, { backend })
}

/** Undefined after that time. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
