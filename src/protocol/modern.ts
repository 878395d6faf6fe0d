/** What modern requests and results have that legacy ones have not (2026-07-28 basic/index, "_meta"; basic/patterns/mrtr). */

export const versionKey = 'io.modelcontextprotocol/protocolVersion'
export const clientKey = 'io.modelcontextprotocol/clientInfo'
export const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities'
export const levelKey = 'io.modelcontextprotocol/logLevel'
export const serverKey = 'io.modelcontextprotocol/serverInfo'
/** In the `_meta` of what comes on a `subscriptions/listen` stream. */
export const subscriptionKey = 'io.modelcontextprotocol/subscriptionId'

/** The extension of tasks (extensions/tasks), and its methods. */
export const tasksKey = 'io.modelcontextprotocol/tasks'
export const ofTasks: ReadonlySet<string> = new Set(['tasks/get', 'tasks/update', 'tasks/cancel'])

/** Members of `_meta` of a request. */
export const modernKeys: ReadonlySet<string> = new Set([versionKey, capabilitiesKey, levelKey, clientKey])

/** Members of `params` that a legacy server would not know, or take for something else. */
export const modernParams: ReadonlySet<string> = new Set(['inputResponses', 'requestState', 'task'])

/** Those of them that a server which knows this revision has no use for: its calls go on by themselves, its tasks are legacy ones. */
export const roundParams: ReadonlySet<string> = new Set(['requestState', 'task'])

/** Methods whose complete results say how long they may be kept (server/utilities/caching). */
export const cacheable: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read'
])

/** Methods of the core that may end in `input_required`. */
export const interactive: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** Methods that this revision does not have any more, and those of the gateway's legacy tasks. */
export const removed: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/result',
  'tasks/list'
])
