/** Why a cell cannot work, with the clause of the specification. */

const specification = 'https://modelcontextprotocol.io/specification'
const changes = (number: string) => `[2026-07-28, key changes, ${number}](${specification}/2026-07-28/changelog)`

export const reasons = {
  ping: `There is no \`ping\` in 2026-07-28: ${changes('major 5')}.`,
  rootsChanged: `There is no \`notifications/roots/list_changed\` in 2026-07-28: ${changes('major 5')}. Roots are asked for anew by each call that wants them.`,
  elicitationComplete: `There is no \`notifications/elicitation/complete\` in 2026-07-28: ${changes('minor 11')}. The client learns how it went by repeating the request.`,
  mustOpen: `There is no error -32042 in 2026-07-28 ([basic, error codes](${specification}/2026-07-28/basic/index#error-codes): "2025-11-25 only"); its servers ask by [\`input_required\`](${specification}/2026-07-28/basic/patterns/mrtr), as in the row above.`,
  structuredObject: `\`structuredContent\` is an object and \`outputSchema\` of an object in 2025-11-25 ([schema, CallToolResult](${specification}/2025-11-25/schema#calltoolresult)); other values came with ${changes('minor 10')}. Clients of 2025 get the value as text.`
} as const

export type Reason = keyof typeof reasons
