/** What servers give when they are asked: rows of the matrix. */
import assert from 'node:assert/strict'
import { pixel, silence } from '../../fixtures/conformance/content.ts'
import { type Area, errorOf, type Feature, has, jsonOf, textOf } from './feature.ts'
import { legacyBackends, legacyClients, modernClients } from './names.ts'

/** A block of content arrives as it was sent. */
const block = (name: string, kind: string, expected: object): Feature => ({
  name,
  async run({ peer }) {
    const { content } = (await peer.callTool('content', { kind })) as { content: unknown[] }
    assert.equal(content.length, 1)
    has(content[0], expected)
  }
})

const server: Area = {
  name: 'The server',
  features: [
    {
      name: 'capabilities and instructions',
      async run({ peer }) {
        has(peer.capabilities, {
          tools: { listChanged: true },
          resources: { listChanged: true, subscribe: true },
          prompts: { listChanged: true },
          logging: {},
          completions: {}
        })
        assert.match(peer.instructions ?? '', /Everything that a server can do/)
      }
    },
    {
      name: 'it knows what the client can do',
      run: async ({ peer }) => has(jsonOf(await peer.callTool('who')), { sampling: {}, elicitation: {}, roots: {} })
    },
    {
      name: 'ping',
      unless: [{ clients: modernClients, why: 'ping' }],
      run: async ({ peer }) => void (await peer.ping())
    }
  ]
}

const tools: Area = {
  name: 'Tools',
  features: [
    {
      name: 'list, with titles, annotations and schemas',
      async run({ peer }) {
        const { tools } = await peer.listTools()
        has(
          tools.find(({ name }) => name === 'echo'),
          {
            title: 'Echo',
            description: 'Says what it hears',
            inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
            annotations: { readOnlyHint: true }
          }
        )
      }
    },
    {
      name: 'call',
      run: async ({ peer }) => assert.equal(textOf(await peer.callTool('echo', { message: 'grüße' })), 'grüße')
    },
    {
      name: 'eight calls at once',
      async run({ peer }) {
        const messages = Array.from({ length: 8 }, (_, index) => String(index))
        const results = await Promise.all(messages.map(message => peer.callTool('echo', { message })))
        assert.deepEqual(results.map(textOf), messages)
      }
    },
    {
      name: 'a result that is an error',
      run: async ({ peer }) => has(await peer.callTool('fail'), { isError: true, content: [{ text: 'it went wrong' }] })
    },
    {
      name: 'a tool that does not exist',
      run: async ({ peer }) => assert.equal((await errorOf(peer.callTool('none'))).code, -32602)
    }
  ]
}

const structured: Area = {
  name: 'Structured output',
  features: [
    {
      name: 'an object, with its schema',
      async run({ peer }) {
        const { tools } = await peer.listTools()
        has(
          tools.find(({ name }) => name === 'sum'),
          { outputSchema: { type: 'object', properties: { sum: { type: 'number' } } } }
        )
        has(await peer.callTool('sum', { a: 1, b: 2 }), { structuredContent: { sum: 3 }, content: [{ type: 'text' }] })
      }
    },
    {
      name: 'another value',
      unless: [
        { clients: legacyClients, why: 'structuredObject' },
        { backends: legacyBackends, why: 'structuredObject' }
      ],
      async run({ peer }) {
        const { tools } = await peer.listTools()
        has(
          tools.find(({ name }) => name === 'numbers'),
          { outputSchema: { type: 'array' } }
        )
        has(await peer.callTool('numbers'), { structuredContent: [1, 2, 3] })
      }
    }
  ]
}

const content: Area = {
  name: 'Content',
  features: [
    block('text', 'text', { type: 'text', text: 'grüße 🌍' }),
    block('image', 'image', { type: 'image', data: pixel, mimeType: 'image/png' }),
    block('audio', 'audio', { type: 'audio', data: silence, mimeType: 'audio/wav' }),
    block('embedded resource, text', 'resource', {
      type: 'resource',
      resource: { uri: 'feature://text', mimeType: 'text/plain', text: 'plain' }
    }),
    block('embedded resource, bytes', 'blob', {
      type: 'resource',
      resource: { uri: 'feature://bytes', mimeType: 'image/png', blob: pixel }
    }),
    block('resource link', 'resource_link', { type: 'resource_link', uri: 'feature://text', name: 'text', size: 5 }),
    block('annotations and `_meta`', 'annotated', {
      annotations: { audience: ['user'], priority: 1 },
      _meta: { 'example.com/a': 1 }
    })
  ]
}

const resources: Area = {
  name: 'Resources',
  features: [
    {
      name: 'list, with titles, sizes and annotations',
      async run({ peer }) {
        const { resources } = await peer.listResources()
        has(
          resources.find(({ uri }) => uri === 'feature://text'),
          { title: 'A text', size: 5, mimeType: 'text/plain', annotations: { audience: ['user'], priority: 0.5 } }
        )
      }
    },
    {
      name: 'read, text',
      run: async ({ peer }) =>
        has(await peer.readResource('feature://text'), { contents: [{ uri: 'feature://text', text: 'plain' }] })
    },
    {
      name: 'read, bytes',
      run: async ({ peer }) => has(await peer.readResource('feature://bytes'), { contents: [{ blob: pixel }] })
    },
    {
      name: 'one that does not exist',
      async run({ client, peer }) {
        const { code } = await errorOf(peer.readResource('feature://none/at/all'))
        // SDK v2 makes the newer code of the older one by itself.
        assert.equal(code, client === 'SDK v1' ? -32002 : -32602)
      }
    },
    {
      name: 'templates: list',
      async run({ peer }) {
        has((await peer.listResourceTemplates()).resourceTemplates, [
          { uriTemplate: 'feature://notes/{id}', title: 'A note', mimeType: 'text/plain' } as object
        ])
      }
    },
    {
      name: 'templates: read',
      run: async ({ peer }) =>
        has(await peer.readResource('feature://notes/7'), { contents: [{ uri: 'feature://notes/7', text: 'note 7' }] })
    }
  ]
}

const prompts: Area = {
  name: 'Prompts',
  features: [
    {
      name: 'list, with arguments',
      async run({ peer }) {
        const { prompts } = await peer.listPrompts()
        has(
          prompts.find(({ name }) => name === 'greet'),
          { title: 'Greet', arguments: [{ name: 'language', required: true }, { name: 'word' }] }
        )
      }
    },
    {
      name: 'get, with arguments',
      run: async ({ peer }) =>
        has(await peer.getPrompt('greet', { language: 'German' }), {
          messages: [{ role: 'user', content: { type: 'text', text: 'Greet in German: hello' } }]
        })
    },
    {
      name: 'get, with an image and an embedded resource',
      run: async ({ peer }) =>
        has(await peer.getPrompt('picture'), {
          messages: [
            { role: 'user', content: { type: 'image', data: pixel } },
            { role: 'assistant', content: { type: 'resource', resource: { uri: 'feature://text', text: 'plain' } } }
          ]
        })
    },
    {
      name: 'one that does not exist',
      run: async ({ peer }) => assert.equal((await errorOf(peer.getPrompt('none'))).code, -32602)
    }
  ]
}

const greet = { type: 'ref/prompt' as const, name: 'greet' }

const completion: Area = {
  name: 'Completion',
  features: [
    {
      name: 'of an argument of a prompt',
      run: async ({ peer }) =>
        has(await peer.complete(greet, { name: 'language', value: 'Ger' }), { completion: { values: ['German'] } })
    },
    {
      name: 'that depends on other arguments',
      async run({ peer }) {
        const filledIn = { arguments: { language: 'German' } }
        const result = await peer.complete(greet, { name: 'word', value: 'g' }, filledIn)
        has(result, { completion: { values: ['guten Tag', 'gruezi'] } })
      }
    },
    {
      name: 'of a variable of a template',
      async run({ peer }) {
        const template = { type: 'ref/resource' as const, uri: 'feature://notes/{id}' }
        has(await peer.complete(template, { name: 'id', value: 't' }), { completion: { values: ['two'] } })
      }
    }
  ]
}

export const serving: readonly Area[] = [server, tools, structured, content, resources, prompts, completion]
