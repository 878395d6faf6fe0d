import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { anew } from './anew.ts'
import type { Handler } from './handler.ts'
import { offerOwnPackage } from './own-package.ts'
import { made, Things } from './thing.ts'

export interface Found {
  readonly handlers: readonly Handler[]
  /** What could not be loaded. `kept`: what it was before goes on. */
  readonly problems: readonly { readonly file: string; readonly error: unknown; readonly kept: boolean }[]
  /** What each file gave. */
  readonly files: ReadonlyMap<string, readonly object[]>
}

/** Files in a folder that may be handlers; tests, declarations and what starts with a dot or an underscore are not. */
const isHandlerFile = (name: string): boolean =>
  /\.(js|mjs|ts|mts)$/.test(name) && !/\.d\.m?ts$|\.(test|spec)\.m?[jt]s$|^[._]/.test(name)

const isHandlerFolder = (name: string): boolean => !/^[._]|^node_modules$|^__?tests?__?$|^tests?$/.test(name)

/**
 * Loads a file, or the files of a folder and its sub-folders in the order of their paths. A module gives its default
 * export, else its other exports: handlers, or single tools, resources, templates and prompts (objects, or classes that
 * make them), which become one handler of the given name.
 * @param before what was found before, nothing perhaps: everything is loaded anew, and a file that cannot be is what it was
 */
export async function discover(path: string, name: string, before?: Pick<Found, 'files'>): Promise<Found> {
  offerOwnPackage()
  const problems: Found['problems'][number][] = []
  const loaded = new Map<string, readonly object[]>()
  let files: readonly string[] = []
  let url = (file: string): string => pathToFileURL(file).href
  try {
    const isFolder = (await stat(path)).isDirectory()
    files = isFolder ? await filesOf(path) : [path]
    if (files.length === 0) throw new Error('there is no .js, .mjs, .ts or .mts file in it')
    if (before !== undefined) url = anew(isFolder ? path : dirname(path))
  } catch (error) {
    files = []
    for (const [file, things] of before?.files ?? []) loaded.set(file, things)
    problems.push({ file: path, error, kept: loaded.size > 0 })
  }
  for (const file of files) {
    try {
      const found = exportsOf((await import(url(file))) as Record<string, unknown>)
      if (found.length === 0) throw new Error('it exports no handler, tool, resource or prompt')
      loaded.set(file, found)
    } catch (error) {
      const kept = before?.files.get(file)
      if (kept !== undefined) loaded.set(file, kept)
      problems.push({ file, error, kept: kept !== undefined })
    }
  }
  const things = new Things(name)
  for (const [file, found] of loaded) {
    try {
      for (const thing of found) things.add(thing)
    } catch (error) {
      problems.push({ file, error, kept: false })
    }
  }
  return { handlers: things.handlers, problems, files: loaded }
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
