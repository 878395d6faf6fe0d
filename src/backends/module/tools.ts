import type { Tool } from '../../handlers/catalog.ts'
import { ClientError, isMissingCapability, isProtocolError, isToolError, ProtocolError } from '../../handlers/errors.ts'
import { failed, forLegacy, promisesAny, resultOf } from '../../handlers/result.ts'
import { facts } from '../../telemetry/events.ts'
import { contextOf } from './context.ts'
import type { Conversation } from './conversation.ts'
import { runAsTask } from './modern-task-methods.ts'
import { mayBeTask } from './modern-tasks.ts'
import { page } from './page.ts'
import { argumentsOf, type Params, stringOf } from './params.ts'
import { Json } from './response.ts'
import type { Running } from './running.ts'
import { isTask } from './tasks.ts'

export function listTools(conversation: Conversation, params: Params, running: Running): unknown {
  const tools = [...conversation.catalog.tools.values()]
  const { items, nextCursor } = page(
    'tools',
    tools.map(tool => listedFor(tool, running)),
    params.cursor,
    conversation.pageSize
  )
  return { tools: items, nextCursor }
}

/** Output schemas of other things than objects came with 2026-07-28: older clients refuse whole lists for them. */
function listedFor(tool: Tool, { caller }: Running): unknown {
  if (!promisesAny(tool) || caller.client.era === 'modern') return tool.listed
  const { outputSchema: _, ...older } = tool.listed
  return older
}

/** server/tools, "Error Handling": an unknown tool is a protocol error; bad arguments and failures are results a model can mend. */
export function callTool(conversation: Conversation, params: Params, running: Running): unknown {
  const name = stringOf(params, 'name')
  const tool = conversation.catalog.tools.get(name)
  if (tool === undefined) throw new ProtocolError(-32602, `Unknown tool: ${name}`)
  const given = argumentsOf(params)
  const work = (task: Running): unknown => run(conversation, tool, given, task)
  if (running.caller.client.era === 'modern') {
    if (!mayBeTask(tool.definition, running)) return work(running)
    return runAsTask(conversation, tool.definition, running, work)
  }
  const { tasks } = conversation
  if (tasks === undefined || !isTask(tool.definition, params.task)) return work(running)
  return tasks.create(params.task, tool.definition, running, work)
}

async function run(conversation: Conversation, tool: Tool, given: Params, running: Running): Promise<unknown> {
  const { name } = tool.definition
  try {
    const checked = await tool.input?.check(given)
    if (checked?.ok === false) return failed(`Invalid arguments for tool ${name}:\n- ${checked.problems.join('\n- ')}`)
    if (running.queue.over) return undefined
    const context = contextOf(conversation, running, name)
    const returned = await conversation.invoke(name, () => tool.definition.handler(checked?.value ?? given, context))
    const result = await resultOf(tool, returned, problem => conversation.warn(`tool "${name}"`, problem))
    return jsonOf(running.caller.client.era === 'modern' ? result : forLegacy(result))
  } catch (error) {
    if (isProtocolError(error) || running.queue.over) throw error
    if (isMissingCapability(error) && running.caller.client.era === 'modern') throw error
    return failure(conversation, tool, error)
  }
}

function failure(conversation: Conversation, tool: Tool, error: unknown): unknown {
  const { name } = tool.definition
  if (isToolError(error)) {
    try {
      return jsonOf(failed(...(error.content ?? [error.message])))
    } catch {
      return failed(error.message)
    }
  }
  // What the client refused, left unanswered or cannot do is no fault of the handler.
  const level = error instanceof ClientError || isMissingCapability(error) ? 'debug' : 'error'
  facts.notice.publish({ level, text: `the tool ${name} failed`, backend: conversation.backend, error })
  return failed(error instanceof Error ? error.message : typeof error === 'string' ? error : 'The tool failed.')
}

/** Throws here rather than where the response is written: cycles, big integers, `toJSON` that throws. */
function jsonOf(result: Readonly<Record<string, unknown>>): Json {
  try {
    return new Json(JSON.stringify(result))
  } catch (cause) {
    throw new Error('The tool returned something that JSON cannot say.', { cause })
  }
}
