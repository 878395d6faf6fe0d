/** Names of the HTTP headers of the Streamable HTTP transport, in lower case as Node gives them. */
export const sessionHeader = 'mcp-session-id'
export const versionHeader = 'mcp-protocol-version'
export const lastEventHeader = 'last-event-id'
export const methodHeader = 'mcp-method'
export const nameHeader = 'mcp-name'
