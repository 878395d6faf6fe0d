import { setTimeout as wait } from 'node:timers/promises'
import { defineTool } from 'causeway'

export default defineTool({
  name: 'reprint',
  title: 'Order a reprint',
  description: 'Orders more copies of a book; large orders take a while',
  inputSchema: {
    type: 'object',
    properties: { isbn: { type: 'string' }, copies: { type: 'integer', minimum: 1 } },
    required: ['isbn', 'copies']
  },
  execution: { taskSupport: 'optional' },
  task: { begins: 'handler', ttl: 600_000, pollInterval: 500 },
  async handler({ isbn, copies }, { becomeTask, signal }) {
    if (copies <= 10) return `${copies} copies of ${isbn} are on their way`
    becomeTask()
    await wait(2_000, undefined, { signal })
    return `${copies} copies of ${isbn} are printed`
  }
})
