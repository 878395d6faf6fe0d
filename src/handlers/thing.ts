/** Whatever an author gives: a handler, a definition of one, a single tool, resource, template or prompt, or a class of those. */
import { Handler } from './handler.ts'

/** Things as handlers, in their order: handlers as they are; all others together in one of the given name, the last. */
export class Things {
  readonly #handlers: Handler[] = []
  readonly #single: Handler
  #singles = 0

  constructor(name: string) {
    this.#single = new Handler({ name })
  }

  get handlers(): readonly Handler[] {
    return this.#singles === 0 ? this.#handlers : [...this.#handlers, this.#single]
  }

  /** Throws a TypeError for what cannot be served. */
  add(exported: unknown): void {
    const thing = made(exported)
    if (thing === undefined) throw new TypeError('this is no handler, tool, resource or prompt')
    if (isHandler(thing)) this.#handlers.push(thing)
    else {
      add(this.#single, thing)
      this.#singles++
    }
  }
}

/** The thing itself, made when it is a class; undefined when it is none of ours. */
export function made(exported: unknown): object | undefined {
  const thing = isClass(exported) ? new exported() : exported
  if (typeof thing !== 'object' || thing === null) return undefined
  if (isHandler(thing) || kindOf(thing) !== undefined) return thing
  const { name, tools, resources, resourceTemplates, prompts } = thing as Record<string, unknown>
  if (typeof name !== 'string' || !(tools ?? resources ?? resourceTemplates ?? prompts)) return undefined
  return new Handler(thing as { name: string })
}

/** By its shape: it may be made by a copy of this package of its own. */
const isHandler = (thing: object): thing is Handler =>
  thing instanceof Handler ||
  (typeof (thing as Handler).listen === 'function' && (thing as Handler).tools?.constructor?.name === 'Map')

const isClass = (value: unknown): value is new () => unknown =>
  typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))

function kindOf(thing: object): 'tool' | 'resource' | 'template' | 'prompt' | undefined {
  const { name, uri, uriTemplate, handler, read, get } = thing as Record<string, unknown>
  if (typeof read === 'function' && typeof uriTemplate === 'string') return 'template'
  if (typeof read === 'function' && typeof uri === 'string') return 'resource'
  if (typeof name !== 'string') return undefined
  if (typeof handler === 'function') return 'tool'
  return typeof get === 'function' ? 'prompt' : undefined
}

function add(handler: Handler, thing: object): void {
  const kind = kindOf(thing)
  if (kind === 'tool') handler.addTool(thing as never)
  else if (kind === 'resource') handler.addResource(thing as never)
  else if (kind === 'template') handler.addResourceTemplate(thing as never)
  else handler.addPrompt(thing as never)
}
