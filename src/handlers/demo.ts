/** The demo backend: each part of the authoring interface once. Point a client at the gateway and try the tools. */
import { setTimeout as wait } from 'node:timers/promises'
import * as z from 'zod'
import { defineHandler, definePrompt, defineResource, defineResourceTemplate, defineTool, ToolError } from './define.ts'

const echo = defineTool({
  name: 'echo',
  title: 'Echo',
  description: 'Says what you say',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  annotations: { readOnlyHint: true, openWorldHint: false },
  handler: ({ text }) => text
})

const countdown = defineTool({
  name: 'countdown',
  title: 'Count down',
  description:
    'Counts down and tells how far it is: progress and log messages while a call runs, until it is cancelled',
  inputSchema: z.object({
    from: z.int().min(1).max(100).default(5).describe('Where to start'),
    every: z.int().min(1).max(5_000).default(500).describe('Milliseconds between two steps')
  }),
  async handler({ from, every }, { progress, log, signal }) {
    for (let done = 0; done < from; done++) {
      progress(done, from, `${from - done} to go`)
      log.info({ left: from - done })
      await wait(every, undefined, { signal })
    }
    progress(from, from, 'Done')
    return `Counted down from ${from}.`
  }
})

const temperatures = new Map([
  ['Berlin', 11],
  ['Lagos', 29],
  ['Lima', 18],
  ['Oslo', 4],
  ['Tokyo', 15]
])
const citiesLike = (typed: string): string[] => [...temperatures.keys()].filter(city => city.startsWith(typed))

const weather = defineTool({
  name: 'weather',
  title: 'Weather',
  description: 'Tells the weather of a city: structured content that is checked against a schema',
  inputSchema: z.object({ city: z.string().describe(`One of ${[...temperatures.keys()].join(', ')}`) }),
  outputSchema: z.object({ city: z.string(), celsius: z.number(), wear: z.string() }),
  annotations: { readOnlyHint: true },
  handler({ city }) {
    const celsius = temperatures.get(city)
    if (celsius === undefined) throw new ToolError(`There is no weather for ${city}.`)
    return { city, celsius, wear: celsius < 10 ? 'a coat' : celsius < 20 ? 'a jacket' : 'a hat' }
  }
})

const order = defineTool({
  name: 'order_coffee',
  title: 'Order coffee',
  description: 'Asks the user what to order: elicitation in the middle of a call',
  async handler(_args, { elicit, session }) {
    const answer = await elicit(
      'What may it be?',
      z.object({
        drink: z.enum(['Espresso', 'Filter', 'Latte']).describe('Your drink'),
        sugar: z.int().min(0).max(3).default(0).describe('Spoons of sugar')
      })
    )
    if (answer.action !== 'accept') return 'No coffee, then.'
    const orders = Number(session.get('orders') ?? 0) + 1
    session.set('orders', orders)
    return `Order ${orders} of this session: ${answer.content.drink}, sugar ${answer.content.sugar}.`
  }
})

let note = 'Write here with the tool write_note.'

const writeNote = defineTool({
  name: 'write_note',
  title: 'Write a note',
  description: 'Changes the resource demo://note and tells whoever subscribed to it',
  inputSchema: { type: 'object', properties: { text: { type: 'string', maxLength: 10_000 } }, required: ['text'] },
  handler({ text }, { notifyResourceUpdated }) {
    note = text
    notifyResourceUpdated('demo://note')
    return [
      { type: 'text', text: 'Noted.' },
      { type: 'resource_link', uri: 'demo://note', name: 'note', mimeType: 'text/plain' }
    ]
  }
})

export default defineHandler({
  name: 'demo',
  title: 'Causeway demo',
  description: 'A few tools, resources and prompts that run inside the gateway',
  instructions:
    'A demonstration. Try countdown with a progress token, order_coffee with a client that can ask its user.',
  tools: [echo, countdown, weather, order, writeNote],
  resources: [
    defineResource({
      uri: 'demo://note',
      name: 'note',
      title: 'The note',
      description: 'A text that changes: subscribe to it',
      mimeType: 'text/plain',
      read: () => note
    })
  ],
  resourceTemplates: [
    defineResourceTemplate({
      uriTemplate: 'demo://weather/{city}',
      name: 'weather',
      title: 'Weather of a city',
      mimeType: 'application/json',
      complete: { city: citiesLike },
      read({ city }) {
        const celsius = temperatures.get(city ?? '')
        return celsius === undefined ? undefined : JSON.stringify({ city, celsius })
      }
    })
  ],
  prompts: [
    definePrompt({
      name: 'packing_list',
      title: 'Packing list',
      description: 'Asks for a list of what to pack',
      arguments: [
        { name: 'city', description: 'Where to', required: true },
        { name: 'days', description: 'For how long' }
      ],
      complete: { city: citiesLike },
      get: ({ city, days = '3' }) =>
        `It is ${temperatures.get(city) ?? 'who knows how many'} degrees in ${city}. What do I pack for ${days} days?`
    })
  ]
})
