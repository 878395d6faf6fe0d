import { defineTool, ToolError } from 'causeway'
import * as z from 'zod'
import { books } from './_books.ts'

export default defineTool({
  name: 'price',
  title: 'Price of a book',
  description: 'Tells what copies of a book cost',
  inputSchema: z.object({ isbn: z.string().describe('As find_book tells it'), copies: z.int().min(1).default(1) }),
  outputSchema: z.object({ title: z.string(), total: z.number() }),
  handler({ isbn, copies }) {
    const book = books.get(isbn)
    if (book === undefined) throw new ToolError(`There is no book ${isbn}: find_book knows those that there are.`)
    return { title: book.title, total: book.price * copies }
  }
})
