import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Handler } from './handler.ts'
import { offerOwnPackage } from './own-package.ts'
import { made, Things } from './thing.ts'

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
  offerOwnPackage()
  const problems: { file: string; error: unknown }[] = []
  let files: readonly string[] = []
  try {
    files = (await stat(path)).isDirectory() ? await filesOf(path) : [path]
    if (files.length === 0) throw new Error('there is no .js, .mjs, .ts or .mts file in it')
  } catch (error) {
    problems.push({ file: path, error })
  }
  const things = new Things(name)
  for (const file of files) {
    try {
      const found = exportsOf((await import(pathToFileURL(file).href)) as Record<string, unknown>)
      if (found.length === 0) throw new Error('it exports no handler, tool, resource or prompt')
      for (const thing of found) things.add(thing)
    } catch (error) {
      problems.push({ file, error })
    }
  }
  return { handlers: things.handlers, problems }
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
