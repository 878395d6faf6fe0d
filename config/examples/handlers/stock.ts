import { defineResource, defineResourceTemplate } from 'causeway'
import { books } from './_books.ts'

export default [
  defineResource({
    uri: 'book://list',
    name: 'books',
    title: 'All books',
    mimeType: 'application/json',
    read: () => JSON.stringify([...books.values()])
  }),
  defineResourceTemplate({
    uriTemplate: 'book://{isbn}',
    name: 'book',
    title: 'A book and its stock',
    mimeType: 'application/json',
    complete: { isbn: typed => [...books.keys()].filter(isbn => isbn.startsWith(typed)) },
    read({ isbn = '' }) {
      const book = books.get(isbn)
      return book === undefined ? undefined : JSON.stringify(book)
    }
  })
]
