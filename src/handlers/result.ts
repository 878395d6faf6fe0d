/** What a tool returned, as a CallToolResult (server/tools, "Tool Result"). */

import type { Warn } from './annotations.ts'
import { contentBlocks } from './block.ts'
import type { Tool } from './catalog.ts'
import type { ContentBlock, ToolResult } from './content.ts'
import { ToolError } from './errors.ts'

type Result = Record<string, unknown>

/** An answer that a model can mend. */
export const failed = (...content: (string | ContentBlock)[]): Result => ({
  content: contentBlocks(content, () => {}),
  isError: true
})

/**
 * Throws a ToolError for what is no result: structured content unlike the `outputSchema`, a block that is broken.
 * Structured content without content gets a text block with its JSON.
 */
export async function resultOf(tool: Tool, returned: unknown, warn: Warn): Promise<Result> {
  const result = wholeResult(tool, returned)
  const { content, structuredContent, ...rest } = result
  const made: Result = { content: contentBlocks(content ?? [], warn), ...rest }
  if (tool.output !== undefined && result.isError !== true) {
    if (structuredContent === undefined) throw new ToolError('The tool gave no structured content, which it promises.')
    const checked = await tool.output.check(structuredContent)
    if (!checked.ok) {
      throw new ToolError(`The tool gave structured content unlike its schema:\n- ${checked.problems.join('\n- ')}`)
    }
    made.structuredContent = checked.value
  } else if (structuredContent !== undefined) {
    made.structuredContent = structuredContent
  }
  if (content === undefined && made.structuredContent !== undefined) {
    made.content = [{ type: 'text', text: JSON.stringify(made.structuredContent) }]
  }
  return made
}

/** For clients before 2026-07-28, whose structured content is an object: any other value goes along as text. */
export function forLegacy(result: Result): Result {
  const { structuredContent, ...rest } = result
  if (structuredContent === undefined || isObject(structuredContent)) return result
  const content = rest.content as readonly ContentBlock[]
  if (content.some(({ type }) => type === 'text')) return rest
  return { ...rest, content: [...content, { type: 'text', text: JSON.stringify(structuredContent) }] }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

function wholeResult(tool: Tool, returned: unknown): ToolResult {
  if (promisesAny(tool) && returned !== undefined && !isWhole(returned)) return { structuredContent: returned }
  if (returned === undefined || returned === null) return { content: [] }
  if (typeof returned === 'string') return { content: [returned] }
  if (isWhole(returned)) return returned
  if (tool.output !== undefined) return { structuredContent: returned }
  if (Array.isArray(returned) && returned.every(item => typeof item === 'string' || isBlock(item))) {
    return { content: returned }
  }
  if (isBlock(returned)) return { content: [returned] }
  const json = JSON.stringify(returned)
  if (json === undefined) throw new ToolError('The tool returned something that is no result.')
  return { content: [json] }
}

/** Whether its structured content need be no object (2026-07-28 server/tools, "Output Schema"). */
export const promisesAny = ({ output }: Tool): boolean => output !== undefined && output.json.type !== 'object'

const isBlock = (value: unknown): value is ContentBlock =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'

function isWhole(value: unknown): value is ToolResult {
  if (typeof value !== 'object' || value === null) return false
  const { content, structuredContent, isError } = value as ToolResult
  return (
    Array.isArray(content) || structuredContent !== undefined || (typeof isError === 'boolean' && content === undefined)
  )
}
