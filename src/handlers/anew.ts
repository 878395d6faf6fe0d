import { createRequire, registerHooks } from 'node:module'
import { sep } from 'node:path'
import { pathToFileURL } from 'node:url'

/** In the URL of a module: how often the files of its folder were loaded before it. */
const mark = 'causeway-load'

/** Folders whose modules are loaded anew, by the number of the loading. */
const roots = new Map<string, string>()
let loadings = 0
let hooked = false

/**
 * Node loads a module once. What comes after this gets the files of a folder as they are now, those that they import from it
 * too: all but `node_modules`. The modules of before stay in memory for as long as the process.
 * @returns the URL to import a file of the folder by
 */
export function anew(folder: string): (file: string) => string {
  hook()
  forgetRequired(folder)
  const number = String(++loadings)
  roots.set(number, pathToFileURL(folder + sep).href)
  return file => marked(pathToFileURL(file).href, number)
}

const marked = (url: string, number: string): string => `${url}${url.includes('?') ? '&' : '?'}${mark}=${number}`

function hook(): void {
  if (hooked) return
  hooked = true
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      const number = new RegExp(`[?&]${mark}=(\\d+)`).exec(context.parentURL ?? '')?.[1]
      const root = number === undefined ? undefined : roots.get(number)
      const { url } = resolved
      if (root === undefined || !url.startsWith(root) || url.includes('/node_modules/') || url.includes(`${mark}=`)) {
        return resolved
      }
      return { ...resolved, url: marked(url, number!) }
    }
  })
}

/** CommonJS modules are known by their paths. */
function forgetRequired(folder: string): void {
  const { cache } = createRequire(import.meta.url)
  for (const file of Object.keys(cache)) {
    if (file.startsWith(folder + sep) && !file.includes(`${sep}node_modules${sep}`)) delete cache[file]
  }
}
