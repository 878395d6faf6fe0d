import { definePrompt } from 'causeway'
import { books } from './_books.ts'

const titles = [...books.values()].map(({ title }) => title)

export default definePrompt({
  name: 'recommend',
  title: 'Recommend a book',
  arguments: [{ name: 'liked', description: 'A book that you liked', required: true }],
  complete: { liked: typed => titles.filter(title => title.startsWith(typed)) },
  get: ({ liked }) => `I liked ${liked}. Which of these would I like too, and why? ${titles.join(', ')}`
})
