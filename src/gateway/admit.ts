/** What a request of an upstream becomes for the client of a session, or why it is not put to it (decisions: "Server requests"). */
import type { Backend } from '../backends/backend.ts'
import { samplingForOlderClient } from '../bridge/older-sampling.ts'
import type { Refusal } from '../exchanges/running.ts'
import type { Message } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { refusal } from './refusal.ts'

/** `reachable`: whether the client takes requests at all. */
export function admit(request: Message, live: Live, backend: Backend, reachable: boolean): Message | Refusal {
  if (backend.scope === 'shared') return ofNobody
  if (!reachable || live.ephemeral) return unreachable
  const { capabilities, version } = live.record.client
  return refusal(request, capabilities) ?? samplingForOlderClient(request, version) ?? tooNew
}

/** Shared links declared nothing to ask for. */
export const ofNobody: Refusal = {
  code: -32601,
  text: 'the backend is shared by several clients: none can be asked'
}

const unreachable: Refusal = { code: -32601, text: 'the client has no event stream to be asked on' }

const tooNew: Refusal = {
  code: -32602,
  text: 'the client is of a revision that has no place for these blocks of content'
}
