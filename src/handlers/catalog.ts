import { setImmediate } from 'node:timers'
import { parseTemplate, type UriTemplate } from '../protocol/uri-template.ts'
import type { Warn } from './annotations.ts'
import type { Meta } from './content.ts'
import type { HandlerDefinition } from './definition.ts'
import type { AnyPrompt, AnyTool, Handler, Listener, ListKind } from './handler.ts'
import { listedPrompt, listedResource, listedTemplate, listedTool } from './listed.ts'
import type { ResourceDefinition, ResourceTemplateDefinition } from './resource.ts'
import { checkTask } from './task.ts'
import { compile, type Validator } from './validate.ts'

/** A thing as it is served: the author's definition, what lists show of it, and what was made of it once. */
export interface Served<T> {
  readonly definition: T
  readonly listed: Meta
}
export interface Tool extends Served<AnyTool> {
  readonly input: Validator | undefined
  readonly output: Validator | undefined
}
export type Resource = Served<ResourceDefinition>
export interface Template extends Served<ResourceTemplateDefinition> {
  readonly parsed: UriTemplate
}
export type Prompt = Served<AnyPrompt>

/** What is wrong with a definition. `refused`: it is not served. */
export type Report = (what: string, problem: string, refused: boolean) => void

/** The handlers of one backend as one server. Of two things with one name the earlier handler's is served. */
export class Catalog {
  #handlers: readonly Handler[] = []
  readonly #report: Report
  /** Definition to what was made of it: a change of one makes the others not anew. */
  readonly #made = new WeakMap<object, object | 'refused'>()
  readonly #listener: Listener
  #unsubscribe: readonly (() => void)[] = []
  readonly #changedKinds = new Set<ListKind>()
  #tools: ReadonlyMap<string, Tool> | undefined
  #resources: ReadonlyMap<string, Resource> | undefined
  #templates: ReadonlyMap<string, Template> | undefined
  #prompts: ReadonlyMap<string, Prompt> | undefined

  /** `changed` is told once for each kind, however much of it changed at once. */
  constructor(handlers: readonly Handler[], report: Report, listener: Listener) {
    this.#report = report
    this.#listener = listener
    this.#serve(handlers)
  }

  /** Serves others from now on. `changed` is told of the kinds whose lists show something else. */
  replace(handlers: readonly Handler[]): void {
    const before = this.#shown()
    this.close()
    this.#serve(handlers)
    this.#tools = this.#prompts = this.#resources = this.#templates = undefined
    const after = this.#shown()
    for (const kind of ['tools', 'resources', 'prompts'] as const) if (before[kind] !== after[kind]) this.#changed(kind)
  }

  get definitions(): readonly HandlerDefinition[] {
    return this.#handlers.map(handler => handler.definition)
  }

  get tools(): ReadonlyMap<string, Tool> {
    this.#tools ??= this.#collect('tool', handler => handler.tools, makeTool)
    return this.#tools
  }

  get resources(): ReadonlyMap<string, Resource> {
    this.#resources ??= this.#collect(
      'resource',
      handler => handler.resources,
      (definition, warn) => ({
        definition,
        listed: listedResource(definition, warn)
      })
    )
    return this.#resources
  }

  get templates(): ReadonlyMap<string, Template> {
    this.#templates ??= this.#collect(
      'resource template',
      handler => handler.resourceTemplates,
      (definition, warn) => ({
        definition,
        parsed: parseTemplate(definition.uriTemplate),
        listed: listedTemplate(definition, warn)
      })
    )
    return this.#templates
  }

  get prompts(): ReadonlyMap<string, Prompt> {
    this.#prompts ??= this.#collect(
      'prompt',
      handler => handler.prompts,
      (definition, warn) => ({
        definition,
        listed: listedPrompt(definition, warn)
      })
    )
    return this.#prompts
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
  }

  #serve(handlers: readonly Handler[]): void {
    this.#handlers = handlers
    for (const { duplicates } of handlers) {
      for (const name of duplicates) this.#report(`"${name}"`, 'it is there twice', true)
    }
    const own = { ...this.#listener, changed: (kind: ListKind) => this.#changed(kind) }
    this.#unsubscribe = handlers.map(handler => handler.listen(own))
  }

  /** What lists show, as text. */
  #shown(): Readonly<Record<ListKind, string>> {
    const { tools, resources, templates, prompts } = this
    const listed = (...all: ReadonlyMap<string, Served<unknown>>[]): string =>
      JSON.stringify(all.map(each => [...each.values()].map(({ listed }) => listed)))
    return { tools: listed(tools), resources: listed(resources, templates), prompts: listed(prompts) }
  }

  #changed(kind: ListKind): void {
    if (kind === 'tools') this.#tools = undefined
    else if (kind === 'prompts') this.#prompts = undefined
    else this.#resources = this.#templates = undefined
    if (this.#changedKinds.size === 0) setImmediate(() => this.#tell())
    this.#changedKinds.add(kind)
  }

  #tell(): void {
    const kinds = [...this.#changedKinds]
    this.#changedKinds.clear()
    for (const kind of kinds) this.#listener.changed(kind)
  }

  #collect<D extends object, S extends object>(
    what: string,
    from: (handler: Handler) => ReadonlyMap<string, D>,
    make: (definition: D, warn: Warn) => S
  ): ReadonlyMap<string, S> {
    const served = new Map<string, S>()
    for (const handler of this.#handlers) {
      for (const [name, definition] of from(handler)) {
        if (served.has(name)) {
          this.#once(definition, () => this.#report(`${what} "${name}"`, 'another one of this name is served', true))
          continue
        }
        const made = this.#make(`${what} "${name}"`, definition, make)
        if (made !== 'refused') served.set(name, made)
      }
    }
    return served
  }

  #make<D extends object, S extends object>(name: string, definition: D, make: (definition: D, warn: Warn) => S) {
    const before = this.#made.get(definition) as S | 'refused' | undefined
    if (before !== undefined) return before
    let made: S | 'refused'
    try {
      made = make(definition, problem => this.#report(name, problem, false))
    } catch (error) {
      made = 'refused'
      this.#report(name, error instanceof Error ? error.message : String(error), true)
    }
    this.#made.set(definition, made)
    return made
  }

  #once(definition: object, tell: () => void): void {
    if (this.#hidden.has(definition)) return
    this.#hidden.add(definition)
    tell()
  }
  readonly #hidden = new WeakSet<object>()
}

function makeTool(definition: AnyTool, warn: Warn): Tool {
  if (typeof definition.handler !== 'function') throw new TypeError('it has no handler')
  checkTask(definition, warn)
  const input = definition.inputSchema === undefined ? undefined : compile(definition.inputSchema, 'input')
  const output = definition.outputSchema === undefined ? undefined : compile(definition.outputSchema, 'output')
  return { definition, input, output, listed: listedTool(definition, input?.json, output?.json, warn) }
}
