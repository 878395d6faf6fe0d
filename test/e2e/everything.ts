import type { Test } from 'tap'
import type { Answers, Connect, Incoming, Peer, Target } from './clients/peer.ts'

/** Where clients, their versions, and the way to the server differ. */
export interface Expected {
  /** undefined: the SDK does not tell. */
  readonly version?: string
  /** Asked for and answered by this client. */
  readonly elicitation: boolean
  /** What becomes of a resource link: shown, turned into text for an old client, or refused by that client's own SDK. */
  readonly resourceLinks: 'links' | 'text' | 'refused'
  /** Arguments already known go along with a completion request. */
  readonly completionContext: boolean
  /** Calls as tasks (2025-11-25). */
  readonly tasks: boolean
}

const is =
  (method: string, params: Record<string, unknown> = {}) =>
  (message: Incoming) =>
    message.method === method && Object.entries(params).every(([name, value]) => message.params?.[name] === value)

const saying = (words: string) => (message: Incoming) =>
  message.method === 'notifications/message' && String(message.params?.data).includes(words)

const textOf = (result: unknown): string => {
  const { content } = result as { content: { type: string; text?: string }[] }
  return content.map(block => block.text ?? '').join('\n')
}

const codeOf = (error: unknown) => (error as { code?: unknown } | undefined)?.code

/** The error of a promise that must reject. */
const errorOf = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('It resolved, but had to reject')
}

/**
 * Every feature of server-everything that a client can use, one subtest each, over one connection. Written for any
 * client and any way to the server: directly, or through the gateway.
 */
export const everythingFeatures = async (t: Test, connect: Connect, target: Target, expected: Expected) => {
  const answers: Answers = {
    roots: [{ uri: 'file:///first', name: 'First' }],
    sample: 'the model was here',
    elicitation: { action: 'cancel' }
  }
  const peer: Peer = await connect(target, answers)
  const { heard } = peer

  await t.test('initialize: version, capabilities and instructions', async t => {
    if (expected.version) t.equal(peer.version, expected.version)
    t.match(peer.capabilities, { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {}, logging: {} })
    t.match(peer.instructions, /Everything/i)
  })

  await t.test('ping is answered', async () => {
    await peer.ping()
  })

  await t.test('roots/list reaches the client outside of any call, and list_changed reaches the server', async t => {
    await heard.first(is('roots/list'))
    await heard.first(saying('Roots updated: 1 root'))
    answers.roots = [...answers.roots, { uri: 'file:///second', name: 'Second' }]
    await peer.rootsChanged()
    await heard.first(saying('Roots updated: 2 root'))
    const roots = textOf(await peer.callTool('get-roots-list'))
    t.match(roots, 'file:///first')
    t.match(roots, 'file:///second')
  })

  await t.test('tools/list shows what the capabilities of the client allow', async t => {
    const names = (await peer.listTools()).tools.map(tool => tool.name)
    t.ok(names.includes('echo'))
    t.ok(names.includes('trigger-sampling-request'))
    t.equal(names.includes('trigger-elicitation-request'), expected.elicitation)
    t.equal(names.includes('trigger-url-elicitation'), expected.elicitation)
  })

  await t.test('tools/call: text, arguments, results that are errors, unknown tools', async t => {
    t.equal(textOf(await peer.callTool('echo', { message: 'grüße 🌍' })), 'Echo: grüße 🌍')
    t.match(textOf(await peer.callTool('get-sum', { a: 1.5, b: 2 })), '3.5')
    t.match(await peer.callTool('get-sum', { a: 'one', b: 2 }), { isError: true })
    const unknown = await peer
      .callTool('no-such-tool')
      .catch(error => ({ isError: true, content: [], code: error.code }))
    t.match(unknown, { isError: true })
  })

  await t.test('tools/call: images, annotations, embedded resources', async t => {
    t.match(await peer.callTool('get-tiny-image'), {
      content: [{ type: 'text' }, { type: 'image', mimeType: 'image/png', data: /^iVBORw0KGgo/ }, { type: 'text' }]
    })
    t.match(await peer.callTool('get-annotated-message', { messageType: 'error', includeImage: true }), {
      content: [
        { type: 'text', annotations: { priority: 1, audience: ['user', 'assistant'] } },
        { type: 'image', annotations: { priority: 0.5, audience: ['user'] } }
      ]
    })
    t.match(await peer.callTool('get-resource-reference', { resourceType: 'Blob', resourceId: 7 }), {
      content: [{}, { type: 'resource', resource: { uri: 'demo://resource/dynamic/blob/7', blob: String } }, {}]
    })
  })

  await t.test('tools/call: structured content that fits the output schema', async t => {
    t.match(await peer.callTool('get-structured-content', { location: 'Chicago' }), {
      structuredContent: { temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 }
    })
  })

  await t.test('tools/call: resource links, as far as the version of the client has them', async t => {
    const call = peer.callTool('get-resource-links', { count: 2 })
    if (expected.resourceLinks === 'refused') {
      await errorOf(call)
    } else if (expected.resourceLinks === 'links') {
      const link = { type: 'resource_link', uri: 'demo://resource/dynamic/text/2', mimeType: 'text/plain' }
      t.match(await call, { content: [{ type: 'text' }, { type: 'resource_link' }, link] })
    } else {
      const result = await call
      t.match(result, { content: [{ type: 'text' }, { type: 'text' }, { type: 'text' }] })
      t.match(textOf(result), 'demo://resource/dynamic/text/2')
    }
  })

  await t.test('tools/call: progress comes in order, before the result', async t => {
    const seen: { progress: number; total?: number | undefined }[] = []
    const result = await peer.callTool(
      'trigger-long-running-operation',
      { duration: 0.5, steps: 5 },
      { onprogress: progress => seen.push(progress) }
    )
    t.match(textOf(result), 'completed')
    t.strictSame(
      seen.map(({ progress, total }) => [progress, total]),
      [1, 2, 3, 4, 5].map(step => [step, 5])
    )
  })

  await t.test('a cancelled call ends for the client, and the next call works', async t => {
    const controller = new AbortController()
    const started = Date.now()
    const call = peer.callTool(
      'trigger-long-running-operation',
      { duration: 20, steps: 200 },
      { signal: controller.signal, onprogress: () => controller.abort('enough') }
    )
    t.match(String(await errorOf(call)), /enough|abort/i)
    t.ok(Date.now() - started < 5000)
    t.equal(textOf(await peer.callTool('echo', { message: 'still here' })), 'Echo: still here')
  })

  await t.test('twenty calls at once each get their own result', async t => {
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) => peer.callTool('echo', { message: String(index) }))
    )
    t.strictSame(
      results.map(textOf),
      Array.from({ length: 20 }, (_, index) => `Echo: ${index}`)
    )
  })

  await t.test('resources: list, templates, read of text and blob, one that does not exist', async t => {
    const uris = (await peer.listResources()).resources.map(resource => resource.uri)
    t.ok(uris.includes('demo://resource/static/document/architecture.md'))
    t.match(await peer.listResourceTemplates(), {
      resourceTemplates: [
        { uriTemplate: 'demo://resource/dynamic/text/{resourceId}' },
        { uriTemplate: 'demo://resource/dynamic/blob/{resourceId}' }
      ]
    })
    t.match(await peer.readResource('demo://resource/static/document/architecture.md'), {
      contents: [{ mimeType: 'text/markdown', text: /Everything/ }]
    })
    t.match(await peer.readResource('demo://resource/dynamic/text/3'), { contents: [{ text: /Resource 3/ }] })
    t.match(await peer.readResource('demo://resource/dynamic/blob/4'), { contents: [{ blob: String }] })
    const code = codeOf(await errorOf(peer.readResource('demo://resource/none')))
    t.ok(code === -32602 || code === -32002, `code ${code}`)
  })

  await t.test('resources: a new one is announced, listed and read', async t => {
    const name = `hello-${Math.random().toString(36).slice(2)}.txt.gz`
    const before = heard.all.length
    const made = await peer.callTool('gzip-file-as-resource', {
      name,
      data: 'data:text/plain,hello',
      outputType: 'resource'
    })
    const uri = `demo://resource/session/${name}`
    t.match(made, { content: [{ type: 'resource', resource: { uri, mimeType: 'application/gzip' } }] })
    await heard.first(is('notifications/resources/list_changed'), before)
    t.ok((await peer.listResources()).resources.some(resource => resource.uri === uri))
    t.match(await peer.readResource(uri), { contents: [{ blob: String }] })
  })

  await t.test('subscriptions: updates come while subscribed; logs below the level do not', async t => {
    const uri = 'demo://resource/dynamic/text/1'
    await peer.setLevel('error')
    const quiet = heard.all.length
    await peer.subscribe(uri)
    await peer.callTool('toggle-subscriber-updates')
    // The channel keeps its order: the log of the subscription would have come before the update.
    await heard.first(is('notifications/resources/updated', { uri }), quiet)
    t.notOk(heard.all.slice(quiet).some(saying('Received Subscribe')), 'an info message came at level error')
    await peer.callTool('toggle-subscriber-updates')

    await peer.setLevel('debug')
    const after = heard.all.length
    await peer.unsubscribe(uri)
    await heard.first(saying('Received Unsubscribe'), after)
    await peer.callTool('toggle-subscriber-updates')
    await peer.callTool('toggle-subscriber-updates')
    await peer.callTool('toggle-simulated-logging')
    await heard.first(saying('message'), after)
    await peer.callTool('toggle-simulated-logging')
    t.equal(heard.all.slice(after).filter(is('notifications/resources/updated')).length, 0)
  })

  await t.test('prompts: list, get with and without arguments, with an embedded resource', async t => {
    const names = (await peer.listPrompts()).prompts.map(prompt => prompt.name)
    t.strictSame(names.toSorted(), ['args-prompt', 'completable-prompt', 'resource-prompt', 'simple-prompt'])
    t.match(await peer.getPrompt('simple-prompt'), {
      messages: [{ role: 'user', content: { type: 'text', text: 'This is a simple prompt without arguments.' } }]
    })
    t.match(await peer.getPrompt('args-prompt', { city: 'Zürich', state: 'ZH' }), {
      messages: [{ content: { text: "What's weather in Zürich, ZH?" } }]
    })
    t.match(await peer.getPrompt('resource-prompt', { resourceType: 'Text', resourceId: '9' }), {
      messages: [{}, { content: { type: 'resource', resource: { uri: 'demo://resource/dynamic/text/9' } } }]
    })
    t.equal(codeOf(await errorOf(peer.getPrompt('no-such-prompt'))), -32602)
  })

  await t.test('completion of prompt arguments and of resource templates', async t => {
    const prompt = { type: 'ref/prompt' as const, name: 'completable-prompt' }
    t.match(await peer.complete(prompt, { name: 'department', value: 'E' }), {
      completion: { values: ['Engineering'] }
    })
    const template = { type: 'ref/resource' as const, uri: 'demo://resource/dynamic/text/{resourceId}' }
    t.match(await peer.complete(template, { name: 'resourceId', value: '12' }), { completion: { values: ['12'] } })
    if (!expected.completionContext) return
    const context = { arguments: { department: 'Sales' } }
    t.match(await peer.complete(prompt, { name: 'name', value: 'E' }, context), { completion: { values: ['Eve'] } })
  })

  await t.test('sampling: the server asks, the client answers', async t => {
    const from = heard.all.length
    const result = textOf(await peer.callTool('trigger-sampling-request', { prompt: 'say something', maxTokens: 7 }))
    t.match(result, answers.sample)
    t.match(await heard.first(is('sampling/createMessage'), from), {
      params: { maxTokens: 7, messages: [{ role: 'user', content: { text: /say something/ } }] }
    })
  })

  if (expected.elicitation) await elicitationFeatures(t, peer, answers)
  if (expected.tasks) await taskFeatures(t, peer)

  await peer.close()
}

const elicitationFeatures = async (t: Test, peer: Peer, answers: Answers) => {
  await t.test('elicitation by form: accepted, declined, cancelled', async t => {
    const from = peer.heard.all.length
    answers.elicitation = {
      action: 'accept',
      content: { name: 'Ada', integer: 5, untitledMultipleSelectEnum: ['Piano'] }
    }
    t.match(textOf(await peer.callTool('trigger-elicitation-request')), 'Ada')
    t.match(await peer.heard.first(is('elicitation/create'), from), {
      params: { requestedSchema: { properties: { name: { type: 'string' }, number: { default: 3.14 } } } }
    })
    answers.elicitation = { action: 'decline' }
    t.match(textOf(await peer.callTool('trigger-elicitation-request')), /decline/i)
    answers.elicitation = { action: 'cancel' }
    t.match(textOf(await peer.callTool('trigger-elicitation-request')), /cancel/i)
  })

  await t.test('elicitation by URL: as a request, and as an error with its data', async t => {
    const from = peer.heard.all.length
    answers.elicitation = { action: 'accept' }
    const args = { url: 'https://example.com/start', elicitationId: 'e-1' }
    t.match(textOf(await peer.callTool('trigger-url-elicitation', args)), 'e-1')
    t.match(await peer.heard.first(is('elicitation/create', { mode: 'url' }), from), { params: args })
    const error = await errorOf(peer.callTool('trigger-url-elicitation', { ...args, errorPath: true }))
    t.match(error, { code: -32042, data: { elicitations: [{ mode: 'url', url: 'https://modelcontextprotocol.io' }] } })
  })
}

const taskFeatures = async (t: Test, peer: Peer) => {
  await t.test('tasks: a call becomes a task, is listed, awaited and cancelled', async t => {
    const start = async (topic: string) => {
      const args = { name: 'simulate-research-query', arguments: { topic }, task: { ttl: 60_000 } }
      return ((await peer.request('tools/call', args)) as { task: { taskId: string; status: string } }).task
    }
    const first = await start('gateways')
    const second = await start('bridges')
    t.match(await peer.request('tasks/get', { taskId: first.taskId }), { taskId: first.taskId, status: 'working' })
    const { tasks } = (await peer.request('tasks/list', {})) as { tasks: { taskId: string }[] }
    t.strictSame(tasks.map(task => task.taskId).toSorted(), [first.taskId, second.taskId].toSorted())
    t.match(await peer.request('tasks/cancel', { taskId: second.taskId }), { status: 'cancelled' })
    t.match(textOf(await peer.request('tasks/result', { taskId: first.taskId })), 'gateways')
    t.match(await peer.request('tasks/get', { taskId: first.taskId }), { status: 'completed' })
  })
}
