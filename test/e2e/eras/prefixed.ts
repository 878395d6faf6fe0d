/** One of several backends behind a route, as a client uses it: by its prefix, which every name has there. */
import type { Peer } from '../clients/peer.ts'

const own = <T extends { name: string }>(items: readonly T[], prefix: string): T[] =>
  items.filter(({ name }) => name.startsWith(prefix)).map(item => ({ ...item, name: item.name.slice(prefix.length) }))

export const prefixed = (peer: Peer, prefix: string): Peer => ({
  ...peer,
  listTools: async () => ({ tools: own((await peer.listTools()).tools, prefix) }),
  listPrompts: async () => ({ prompts: own((await peer.listPrompts()).prompts, prefix) }),
  callTool: (name, args, options) => peer.callTool(prefix + name, args, options),
  getPrompt: (name, args) => peer.getPrompt(prefix + name, args),
  complete: (ref, argument, context) =>
    peer.complete(ref.type === 'ref/prompt' ? { ...ref, name: prefix + ref.name } : ref, argument, context)
})
