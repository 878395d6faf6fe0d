// The least that a handler can do: what bench/upstream/http.ts answers, from inside of the gateway.
export default {
  name: 'echo',
  inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
  handler: () => 'xx'
}
