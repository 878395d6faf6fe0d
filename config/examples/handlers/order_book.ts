import { defineTool, ToolError } from 'causeway'
import * as z from 'zod'
import { books } from './_books.ts'

export default defineTool({
  name: 'order_book',
  title: 'Order a book',
  description: 'Orders a book, once the user has said how it is to be sent',
  inputSchema: z.object({ isbn: z.string() }),
  async handler({ isbn }, { elicitChoice, progress, log, session, notifyResourceUpdated }) {
    const book = books.get(isbn)
    if (book === undefined || book.stock === 0) throw new ToolError('There is none in stock.')
    progress(1, 2, 'Waiting for the user')
    const delivery = await elicitChoice(`How do you want ${book.title}?`, { post: 'By post', store: 'In the store' })
    if (delivery === undefined) return 'Nothing was ordered.'
    book.stock--
    notifyResourceUpdated(`book://${isbn}`)
    const orders = Number(session.get('orders') ?? 0) + 1
    session.set('orders', orders)
    log.info({ ordered: isbn, left: book.stock })
    progress(2, 2, 'Ordered')
    return `Order ${orders} of this session: ${book.title}, ${delivery === 'post' ? 'by post' : 'in the store'}.`
  }
})
