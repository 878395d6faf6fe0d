import { defineTool } from 'causeway'
import { books } from './_books.ts'

export default defineTool({
  name: 'find_book',
  title: 'Find a book',
  description: 'Finds books by a part of their title',
  inputSchema: {
    type: 'object',
    properties: { title: { type: 'string', minLength: 2, description: 'A part of the title' } },
    required: ['title']
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
  handler({ title }) {
    const found = [...books.values()].filter(book => book.title.toLowerCase().includes(title.toLowerCase()))
    return found.length === 0 ? 'No such book.' : found.map(book => `${book.isbn} ${book.title}`).join('\n')
  }
})
