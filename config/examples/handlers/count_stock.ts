import { setTimeout as wait } from 'node:timers/promises'
import { defineTool } from 'causeway'
import { books } from './_books.ts'

export default defineTool({
  name: 'count_stock',
  title: 'Count the stock',
  description: 'Counts every copy on the shelves, which takes a while',
  execution: { taskSupport: 'optional' },
  async handler(_args, { progress, signal }) {
    let copies = 0
    let done = 0
    for (const book of books.values()) {
      await wait(100, undefined, { signal })
      copies += book.stock
      progress(++done, books.size, book.title)
    }
    return `${copies} copies of ${books.size} books`
  }
})
