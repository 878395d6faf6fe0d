/** Not a handler: names that begin with an underscore are left alone. */
export interface Book {
  readonly isbn: string
  readonly title: string
  readonly price: number
  stock: number
}

const list: Book[] = [
  { isbn: '9780441172719', title: 'Dune', price: 9.5, stock: 3 },
  { isbn: '9780553293357', title: 'Foundation', price: 8, stock: 0 },
  { isbn: '9780261102217', title: 'The Hobbit', price: 7.25, stock: 12 }
]

export const books = new Map(list.map(book => [book.isbn, book]))
