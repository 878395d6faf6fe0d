import { defineTool } from 'causeway'

export default defineTool({
  name: 'greet',
  title: 'Greet',
  description: 'Greets somebody by name',
  inputSchema: {
    type: 'object',
    properties: { name: { type: 'string', description: 'Whom to greet' } },
    required: ['name']
  },
  annotations: { readOnlyHint: true },
  handler: ({ name }) => `Hello, ${name}!`
})
