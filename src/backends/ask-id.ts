/**
 * Ids of what a server that is written for both eras asks within a modern request: they end with the key that the question
 * has for the client, which no legacy request has a member for.
 */

/** JSON text. `number`: unlike that of every other request of the link. */
export const askId = (number: string, key: string): string => JSON.stringify(`${number}:${key}`)

export function keyOfAsk(id: string): string {
  const text = JSON.parse(id) as string
  return text.slice(text.indexOf(':') + 1)
}
