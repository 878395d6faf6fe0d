import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Handler } from './handler.ts'

export interface Found {
  readonly handlers: readonly Handler[]
  /** What could not be loaded. */
  readonly problems: readonly { readonly file: string; readonly error: unknown }[]
}

/** Files in a folder that may be handlers; tests, declarations and what starts with a dot or an underscore are not. */
const isHandlerFile = (name: string): boolean =>
  /\.(js|mjs|ts|mts)$/.test(name) && !/\.d\.m?ts$|\.(test|spec)\.m?[jt]s$|^[._]/.test(name)

const isHandlerFolder = (name: string): boolean => !/^[._]|^node_modules$|^__?tests?__?$|^tests?$/.test(name)

/**
 * Loads a file, or the files of a folder and its sub-folders in the order of their paths. A module gives its default
 * export, else its other exports: handlers, or single tools, resources, templates and prompts (objects, or classes that
 * make them), which become one handler of the given name.
 */
export async function discover(path: string, name: string): Promise<Found> {
  const problems: { file: string; error: unknown }[] = []
  const handlers: Handler[] = []
  let files: readonly string[] = []
  try {
    files = (await stat(path)).isDirectory() ? await filesOf(path) : [path]
    if (files.length === 0) throw new Error('there is no .js, .mjs, .ts or .mts file in it')
  } catch (error) {
    problems.push({ file: path, error })
  }
  const single = new Handler({ name })
  let singles = 0
  for (const file of files) {
    try {
      const things = exportsOf((await import(pathToFileURL(file).href)) as Record<string, unknown>)
      if (things.length === 0) throw new Error('it exports no handler, tool, resource or prompt')
      for (const thing of things) {
        if (isHandler(thing)) handlers.push(thing)
        else {
          add(single, thing)
          singles++
        }
      }
    } catch (error) {
      problems.push({ file, error })
    }
  }
  if (singles > 0) handlers.push(single)
  return { handlers, problems }
}

async function filesOf(folder: string): Promise<string[]> {
  const files: string[] = []
  for (const entry of (await readdir(folder, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    const isFolder = entry.isDirectory() || (entry.isSymbolicLink() && (await stat(path)).isDirectory())
    if (isFolder) {
      if (isHandlerFolder(entry.name)) files.push(...(await filesOf(path)))
    } else if (isHandlerFile(basename(path))) files.push(path)
  }
  return files
}

function exportsOf({ default: main, ...others }: Record<string, unknown>): object[] {
  if (main !== undefined) {
    const things = (Array.isArray(main) ? main : [main]).map(made)
    const wrong = things.indexOf(undefined)
    if (wrong !== -1) throw new Error('its default export is no handler, tool, resource or prompt')
    return things as object[]
  }
  return Object.values(others)
    .map(made)
    .filter(thing => thing !== undefined)
}

/** The thing itself, made when it is a class; undefined when it is none of ours. */
function made(exported: unknown): object | undefined {
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
