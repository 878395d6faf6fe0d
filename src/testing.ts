/** What authors test handlers with: `import { testHandler } from 'causeway/testing'`. */
import { fileURLToPath } from 'node:url'
import { createModuleBackend } from './backends/module/backend.ts'
import type { LogLevel } from './handlers/content.ts'
import { Things } from './handlers/thing.ts'
import { capabilitiesKey, clientKey, versionKey } from './protocol/modern.ts'
import { isModern, latestLegacy } from './protocol/version.ts'
import { facts, type NoticeFact } from './telemetry/events.ts'
import { type Answers, capabilitiesOf } from './testing/answers.ts'
import { TestClient } from './testing/client.ts'

export { ClientError, MissingCapabilityError, ProtocolError } from './handlers/errors.ts'
export type { Answers, ElicitAnswer, ElicitRequest, Scripted } from './testing/answers.ts'
export type { CallOptions, CallResult, Said, TestClient } from './testing/client.ts'

export interface TestOptions {
  /** What the client answers when it is asked. */
  readonly answers?: Answers
  /** What the client declares. Default: what `answers` has an answer for. */
  readonly capabilities?: Readonly<Record<string, unknown>>
  /** Revision of the protocol. Default 2025-11-25; from 2026-07-28 on every request says who asks. */
  readonly version?: string
  /** What is logged to the client. Default `debug`. */
  readonly level?: LogLevel
  /** Key of the principal that calls. Default `anonymous`. */
  readonly principal?: string
}

/**
 * Serves a handler, a tool, a resource, a prompt, several of them, or a file or folder (path or URL) to a client of its
 * own, by the code that serves them in the gateway; no port, no process. Rejects when anything cannot be served. Close the
 * client at the end, or `await using` it.
 */
export async function testHandler(
  subject: string | URL | object | readonly object[],
  options: TestOptions = {}
): Promise<TestClient> {
  const { answers = {}, version = latestLegacy, level = 'debug', principal = 'anonymous' } = options
  const name = `test-${++tests}`
  const capabilities = options.capabilities ?? capabilitiesOf(answers)
  const info = { name: 'causeway/testing', version: '1' }
  const notices: NoticeFact[] = []
  const unsubscribe = facts.notice.subscribe(notice => {
    if (notice.backend === name && notice.level !== 'info') notices.push(notice)
  })
  try {
    const backend = await createModuleBackend({ name, strict: true, ...servedBy(subject, name) })
    const link = await backend.open({
      principal: { key: principal },
      client: {
        version,
        capabilities: JSON.stringify(capabilities),
        info: JSON.stringify(info)
      },
      signal: new AbortController().signal,
      receive: message => client.take(message),
      ended: () => {}
    })
    const end = async (): Promise<void> => {
      await backend.close()
      unsubscribe()
    }
    const envelope = isModern(version)
      ? { [versionKey]: version, [capabilitiesKey]: capabilities, [clientKey]: info }
      : undefined
    const client: TestClient = new TestClient(link, { principal, answers, envelope, notices, end })
    if ('logging' in link.server.capabilities) await client.request('logging/setLevel', { level })
    return client
  } catch (error) {
    unsubscribe()
    throw error
  }
}

let tests = 0

function servedBy(subject: string | URL | object, name: string) {
  if (typeof subject === 'string') return { path: subject }
  if (subject instanceof URL) return { path: fileURLToPath(subject) }
  const things = new Things(name)
  for (const thing of Array.isArray(subject) ? subject : [subject]) things.add(thing)
  return { handlers: things.handlers }
}
