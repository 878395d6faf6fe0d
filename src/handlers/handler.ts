import type { HandlerDefinition } from './definition.ts'
import type { PromptDefinition } from './prompt.ts'
import type { ResourceDefinition, ResourceTemplateDefinition } from './resource.ts'
import type { ToolDefinition } from './tool.ts'

/** What a `list_changed` is about. */
export type ListKind = 'tools' | 'resources' | 'prompts'

// biome-ignore-start lint/suspicious/noExplicitAny: each has arguments of its own
export type AnyTool = ToolDefinition<any, any>
export type AnyPrompt = PromptDefinition<any>
// biome-ignore-end lint/suspicious/noExplicitAny: each has arguments of its own

/** A thing, or the class that makes it. */
export type OrClass<T> = T | (new () => T)

/** Who serves a handler. */
export interface Listener {
  changed(kind: ListKind): void
  updated(uri: string): void
  broadcast(method: string, params: Readonly<Record<string, unknown>> | undefined): void
}

/** A definition that can change while it is served: sessions are told (`list_changed`). The later of two with one name wins. */
export class Handler {
  readonly definition: HandlerDefinition
  readonly tools = new Map<string, AnyTool>()
  readonly resources = new Map<string, ResourceDefinition>()
  readonly resourceTemplates = new Map<string, ResourceTemplateDefinition>()
  readonly prompts = new Map<string, AnyPrompt>()
  /** What was added twice before anybody served it: a mistake, while replacing something that is served is a change. */
  readonly duplicates: string[] = []
  readonly #listeners = new Set<Listener>()

  constructor(definition: HandlerDefinition) {
    this.definition = definition
    for (const tool of definition.tools ?? []) this.addTool(tool)
    for (const resource of definition.resources ?? []) this.addResource(resource)
    for (const template of definition.resourceTemplates ?? []) this.addResourceTemplate(template)
    for (const prompt of definition.prompts ?? []) this.addPrompt(prompt)
  }

  addTool(tool: OrClass<AnyTool>): this {
    const made = make(tool)
    return this.#add(this.tools, made.name, made, 'tools')
  }

  addResource(resource: OrClass<ResourceDefinition>): this {
    const made = make(resource)
    return this.#add(this.resources, made.uri, made, 'resources')
  }

  addResourceTemplate(template: OrClass<ResourceTemplateDefinition>): this {
    const made = make(template)
    return this.#add(this.resourceTemplates, made.uriTemplate, made, 'resources')
  }

  addPrompt(prompt: OrClass<AnyPrompt>): this {
    const made = make(prompt)
    return this.#add(this.prompts, made.name, made, 'prompts')
  }

  /** Whether there was one. So for the others. */
  removeTool(name: string): boolean {
    return this.#remove(this.tools, name, 'tools')
  }

  removeResource(uri: string): boolean {
    return this.#remove(this.resources, uri, 'resources')
  }

  removeResourceTemplate(uriTemplate: string): boolean {
    return this.#remove(this.resourceTemplates, uriTemplate, 'resources')
  }

  removePrompt(name: string): boolean {
    return this.#remove(this.prompts, name, 'prompts')
  }

  /** Tells every session that subscribed to this URI, or to a part of its path, that it changed. */
  notifyResourceUpdated(uri: string): void {
    for (const { updated } of this.#listeners) updated(uri)
  }

  /** Tells every session. */
  broadcast(method: `notifications/${string}`, params?: Readonly<Record<string, unknown>>): void {
    for (const { broadcast } of this.#listeners) broadcast(method, params)
  }

  /** Returns what ends it. The listener must not throw. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  #add<T>(things: Map<string, T>, key: string, thing: T, kind: ListKind): this {
    if (typeof key !== 'string' || key === '') throw new TypeError(`${kind}: every one needs a name (resources a URI)`)
    if (this.#listeners.size === 0 && things.has(key)) this.duplicates.push(key)
    things.set(key, thing)
    this.#changed(kind)
    return this
  }

  #remove<T>(things: Map<string, T>, key: string, kind: ListKind): boolean {
    if (!things.delete(key)) return false
    this.#changed(kind)
    return true
  }

  #changed(kind: ListKind): void {
    for (const { changed } of this.#listeners) changed(kind)
  }
}

const make = <T>(thing: OrClass<T>): T => (typeof thing === 'function' ? new (thing as new () => T)() : thing)
