import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ExitCode, exit, type Output } from './exit.ts'
import { keepable, starter } from './starter.ts'

/** From `src/cli` and from `dist/cli` alike. */
const own = fileURLToPath(new URL('../..', import.meta.url))

/** Writes a config, a handler and a test into a folder. Writes nothing when one of them exists. */
export const init = async (folder: string, { out, error }: Output): Promise<ExitCode> => {
  const dependency = dependencyOf(own, resolve(folder))
  const files = Object.entries(starter(dependency))
  const taken = files.map(([path]) => path).filter(path => existsSync(join(folder, path)))
  const conflicts = taken.filter(path => !keepable.includes(path))
  if (conflicts.length > 0) {
    error(
      `causeway: nothing was written, for there is already ${conflicts.map(path => join(folder, path)).join(', ')}\n`
    )
    return exit.failure
  }
  for (const [path, text] of files) {
    if (taken.includes(path)) {
      out(`kept    ${join(folder, path)}\n`)
      continue
    }
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text, { flag: 'wx' })
    out(`written ${join(folder, path)}\n`)
  }
  out(`\nNext:\n${next(folder, taken, dependency).join('\n')}\n`)
  return exit.ok
}

const next = (folder: string, taken: readonly string[], dependency: string): string[] => [
  ...(resolve(folder) === process.cwd() ? [] : [`  cd ${folder}`]),
  ...(taken.includes('package.json') ? installing(folder, dependency) : ['  npm install']),
  '  node --test    runs the test',
  '  npx causeway   serves the handler at http://127.0.0.1:8080/mcp'
]

/** Where there is a package.json already. */
const installing = (folder: string, dependency: string): string[] =>
  installedBy(packageIn(folder)) === undefined ? [`  npm install causeway@${dependency}`] : []

/** How npm finds, from a folder, the package that lies in `root`: as it was installed there, or where its checkout is. */
export function dependencyOf(root: string, folder: string): string {
  const { version } = packageIn(root) as { version: string }
  const modules = dirname(resolve(root))
  if (basename(modules) !== 'node_modules') return `file:${relative(folder, root)}`
  const project = dirname(modules)
  const installed = installedBy(packageIn(project))
  if (installed === undefined) return `^${version}`
  if (!installed.startsWith('file:')) return installed
  return `file:${relative(folder, resolve(project, installed.slice('file:'.length)))}`
}

interface Package {
  readonly version?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

const installedBy = ({ dependencies, devDependencies }: Package): string | undefined =>
  dependencies?.causeway ?? devDependencies?.causeway

const packageIn = (folder: string): Package => {
  const path = join(folder, 'package.json')
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Package) : {}
}
