/** What servers ask their clients: rows of the matrix. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type Area, errorOf, has, hear, heardSince, jsonOf, textOf } from './feature.ts'
import { modernBackends, modernClients } from './names.ts'

const elicitation = 'elicitation/create'

const forms: Area = {
  name: 'Elicitation by form',
  features: [
    {
      name: 'accepted',
      async run(scene) {
        const from = scene.peer.heard.all.length
        scene.answers.elicitation = { action: 'accept', content: { name: 'Ada' } }
        has(jsonOf(await scene.peer.callTool('form', { message: 'Who?' })), scene.answers.elicitation)
        const { params } = await hear(scene, from, elicitation)
        has(params, { message: 'Who?', requestedSchema: { properties: { name: { type: 'string' } } } })
      }
    },
    {
      name: 'declined',
      async run({ peer, answers }) {
        answers.elicitation = { action: 'decline' }
        assert.equal(jsonOf(await peer.callTool('form', { message: 'Who?' })).action, 'decline')
      }
    },
    {
      name: 'cancelled',
      async run({ peer, answers }) {
        answers.elicitation = { action: 'cancel' }
        assert.equal(jsonOf(await peer.callTool('form', { message: 'Who?' })).action, 'cancel')
      }
    },
    {
      name: 'every kind of field',
      async run(scene) {
        const from = scene.peer.heard.all.length
        const content = { mail: 'a@b.test', age: 36, score: 1.5, sure: false, color: 'red', size: 'l', days: ['mon'] }
        scene.answers.elicitation = { action: 'accept', content }
        has(jsonOf(await scene.peer.callTool('every_field')), { action: 'accept', content })
        const { params } = await hear(scene, from, elicitation)
        has(params, {
          requestedSchema: {
            properties: {
              mail: { format: 'email', maxLength: 80 },
              age: { type: 'integer', maximum: 150 },
              score: { type: 'number', default: 0.5 },
              sure: { type: 'boolean', default: true },
              color: { enum: ['red', 'green'] },
              size: { oneOf: [{ const: 's', title: 'Small' }, { const: 'l' }] },
              days: { type: 'array', items: { enum: ['mon', 'tue', 'wed'] } }
            },
            required: ['mail']
          }
        })
      }
    },
    {
      name: 'by a resource that is read',
      async run({ peer, answers }) {
        answers.elicitation = { action: 'accept', content: { name: 'Ada' } }
        has(await peer.readResource('feature://asking'), { contents: [{ text: 'read by Ada' }] })
      }
    },
    {
      name: 'by a prompt that is got',
      async run({ peer, answers }) {
        answers.elicitation = { action: 'accept', content: { name: 'Ada' } }
        has(await peer.getPrompt('asking'), { messages: [{ content: { text: 'prompted by Ada' } }] })
      }
    }
  ]
}

const urls: Area = {
  name: 'Elicitation by URL',
  features: [
    {
      name: 'accepted',
      async run(scene) {
        const from = scene.peer.heard.all.length
        scene.answers.elicitation = { action: 'accept' }
        assert.equal(textOf(await scene.peer.callTool('open', { id: 'a' })), 'accept')
        const { params } = await hear(scene, from, elicitation)
        has(params, { mode: 'url', url: 'https://example.com/login/a', message: 'Log in' })
      }
    },
    {
      name: 'the client is told when it is done',
      unless: [
        { clients: modernClients, why: 'elicitationComplete' },
        { backends: modernBackends, why: 'elicitationComplete' }
      ],
      async run(scene) {
        const from = scene.peer.heard.all.length
        scene.answers.elicitation = { action: 'accept' }
        await scene.peer.callTool('open', { id: 'b' })
        const { params } = await hear(scene, from, elicitation)
        const { elicitationId } = params as { elicitationId: unknown }
        assert.ok(elicitationId)
        await hear(scene, from, 'notifications/elicitation/complete', { elicitationId })
      }
    },
    {
      name: 'an error that wants it (-32042)',
      unless: [{ backends: modernBackends, why: 'mustOpen' }],
      async run({ client, backend, peer, answers, ...scene }) {
        const from = peer.heard.all.length
        answers.elicitation = { action: 'accept' }
        const id = randomUUID()
        const url = `https://example.com/login/${id}`
        const open = () => peer.callTool('must_open', { id })
        if (modernClients.includes(client)) {
          // The client opens the address and calls again by itself.
          assert.equal(textOf(await open()), 'welcome')
          const { params } = await hear({ client, backend, peer, answers, ...scene }, from, elicitation)
          return has(params, { mode: 'url', url })
        }
        const { code, data } = await errorOf(open())
        assert.equal(code, -32042)
        has(data.elicitations, [{ mode: 'url', url }])
        assert.equal(textOf(await open()), 'welcome')
      }
    }
  ]
}

const sampling: Area = {
  name: 'Sampling',
  features: [
    {
      name: 'without tools',
      async run({ peer, answers }) {
        delete answers.model
        answers.sample = 'the model was here'
        const answer = { role: 'assistant', content: { type: 'text', text: answers.sample } }
        has(jsonOf(await peer.callTool('sample', { words: 'Say it' })), answer)
      }
    },
    {
      name: 'with tools, over two turns',
      async run(scene) {
        const { peer, answers } = scene
        const from = peer.heard.all.length
        answers.model = ({ messages }) => {
          const { content } = messages.at(-1)
          const result = [content].flat().find(({ type }: { type: string }) => type === 'tool_result')
          const model = { role: 'assistant', model: 'e2e' }
          return result === undefined
            ? {
                ...model,
                stopReason: 'toolUse',
                content: [{ type: 'tool_use', id: 'use-1', name: 'weather', input: { city: 'Bern' } }]
              }
            : { ...model, content: { type: 'text', text: `It is ${result.content[0].text}` } }
        }
        const result = await peer.callTool('sample_with_tools').finally(() => delete answers.model)
        assert.equal(textOf(result), 'It is sunny in Bern')
        const asked = heardSince(scene, from, 'sampling/createMessage')
        assert.equal(asked.length, 2)
        has(asked[0]!.params, { tools: [{ name: 'weather' }] })
      }
    }
  ]
}

const roots: Area = {
  name: 'Roots',
  features: [
    {
      name: 'list',
      async run({ peer, answers }) {
        answers.roots = [{ uri: 'file:///work', name: 'Work' }]
        has(jsonOf(await peer.callTool('roots')), { roots: answers.roots })
      }
    },
    {
      name: 'the server is told that they changed',
      unless: [
        { clients: modernClients, why: 'rootsChanged' },
        { backends: modernBackends, why: 'rootsChanged' }
      ],
      async run({ peer, patience }) {
        let told: Promise<unknown> | undefined
        const onprogress = (): void => {
          told = peer.rootsChanged()
          // Waited for below, unless the call rejects first.
          told.catch(() => {})
        }
        const result = await peer.callTool('watch_roots', {}, { onprogress, signal: AbortSignal.timeout(patience) })
        await told
        assert.equal(textOf(result), 'they changed')
      }
    }
  ]
}

const several: Area = {
  name: 'Several questions',
  features: [
    {
      name: 'several at once: a form, sampling, roots',
      async run({ peer, answers }) {
        answers.elicitation = { action: 'accept', content: { name: 'Ada' } }
        answers.sample = 'the model was here'
        answers.roots = [{ uri: 'file:///work', name: 'Work' }]
        has(jsonOf(await peer.callTool('at_once')), {
          who: { action: 'accept', content: { name: 'Ada' } },
          model: { content: { type: 'text', text: answers.sample } },
          roots: { roots: answers.roots }
        })
      }
    },
    {
      name: 'four rounds, with progress before, between and after',
      async run({ peer, answers, world }) {
        answers.user = ({ message }) => ({ action: 'accept', content: { name: message.replace('Round ', 'n') } })
        const seen = new Set<number>()
        const label = randomUUID()
        const onprogress = ({ progress }: { progress: number }): void => {
          seen.add(progress)
          world.say(`seen ${label}/${progress}`)
        }
        const result = await peer
          .callTool('rounds', { count: 4, label }, { onprogress })
          .finally(() => delete answers.user)
        assert.equal(textOf(result), 'n1 n2 n3 n4')
        assert.deepEqual([...seen], [1, 2, 3, 4, 5])
      }
    }
  ]
}

export const asking: readonly Area[] = [forms, urls, sampling, roots, several]
