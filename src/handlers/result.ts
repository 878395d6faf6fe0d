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

function wholeResult(tool: Tool, returned: unknown): ToolResult {
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

const isBlock = (value: unknown): value is ContentBlock =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'

function isWhole(value: unknown): value is ToolResult {
  if (typeof value !== 'object' || value === null) return false
  const { content, structuredContent, isError } = value as ToolResult
  return (
    Array.isArray(content) || structuredContent !== undefined || (typeof isError === 'boolean' && content === undefined)
  )
}
