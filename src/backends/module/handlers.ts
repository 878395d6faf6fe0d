/** The handlers at a path: loaded at the start, and again when their files change. */
import { GatewayError } from '../../errors.ts'
import { discover, type Found } from '../../handlers/discover.ts'
import type { Handler } from '../../handlers/handler.ts'
import { facts } from '../../telemetry/events.ts'
import { inScope } from '../scope.ts'

const nothing: Found = { handlers: [], problems: [], files: new Map() }

export interface HandlersOptions {
  readonly name: string
  /** A file, or a folder of files; none: no handlers. */
  readonly path?: string
  readonly strict?: boolean
  /**
   * Milliseconds that loading may take: a module that waits for ever would keep every later change from being taken. Default
   * 30,000.
   */
  readonly loading?: number
}

export class HandlersAt {
  readonly #options: HandlersOptions
  #found = nothing

  constructor(options: HandlersOptions) {
    this.#options = options
  }

  /**
   * Rejects with a GatewayError `backend_unavailable` when nothing can be loaded, or with `strict` when anything cannot.
   * `fresh`: also what was loaded before in this process.
   */
  async load(fresh: boolean): Promise<readonly Handler[]> {
    const found = await this.#discover(fresh ? nothing : undefined)
    for (const { file, error } of found.problems) {
      if (this.#options.strict || found.handlers.length === 0) {
        const { name } = this.#options
        const text = `backend "${name}": ${file} cannot be loaded: ${reasonOf(error)}`
        throw new GatewayError('backend_unavailable', text, { backend: name, cause: error })
      }
      this.#tell(`${file} cannot be loaded and is left out: ${reasonOf(error)}`, error)
    }
    this.#found = found
    return found.handlers
  }

  /** As their files are now. A file that cannot be loaded is told, and is what it was before. Undefined: nothing is to change. */
  async reload(): Promise<readonly Handler[] | undefined> {
    const found = await this.#discover(this.#found).catch((error: unknown) => {
      this.#tell(`${reasonOf(error)}; what it was before goes on`, error)
      return undefined
    })
    if (found === undefined) return undefined
    for (const { file, error, kept } of found.problems) {
      const rest = kept ? 'what it was before goes on' : 'is left out'
      this.#tell(`${file} cannot be loaded, ${rest}: ${reasonOf(error)}`, error)
    }
    this.#found = found
    return found.handlers
  }

  async #discover(before?: Found): Promise<Found> {
    const { name, path, loading = 30_000 } = this.#options
    if (path === undefined) return nothing
    const scope = {
      fault(error: unknown) {
        const text = 'a module left an error that nobody caught'
        facts.notice.publish({ level: 'error', text, backend: name, error })
      }
    }
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      const text = `loading ${path} took longer than ${loading} ms: a module waits for something that does not come`
      reject(new GatewayError('backend_unavailable', text, { backend: name }))
    }, loading)
    try {
      return await Promise.race([late, inScope(scope, () => discover(path, name, before))])
    } finally {
      clearTimeout(timer)
    }
  }

  #tell(text: string, error: unknown): void {
    facts.notice.publish({ level: 'error', text, backend: this.#options.name, error })
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
