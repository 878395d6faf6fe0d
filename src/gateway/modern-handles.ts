/**
 * What modern clients call tasks by (decisions: "Tasks"). Their era has no sessions that tasks could belong to: where callers
 * are told apart a handle proves whose it is, and where there are several backends it names one. Nothing is remembered.
 */
import { anonymous, type Principal } from '../auth/principal.ts'
import type { Backend } from '../backends/backend.ts'
import type { Sealer } from '../protocol/seal.ts'
import { handlePrefix, parseHandle } from './handles.ts'
import type { Route } from './route.ts'

export interface Holder {
  readonly route: Pick<Route, 'backends'>
  readonly principal: Principal
}

export interface TaskAt {
  readonly backend: Backend
  /** The backend's own. */
  readonly id: string
}

export class ModernHandles {
  readonly #sealer: Pick<Sealer, 'mark' | 'isMark'>

  constructor(sealer: Pick<Sealer, 'mark' | 'isMark'>) {
    this.#sealer = sealer
  }

  /** The same for the same task, so that clients find again what they know. */
  of({ backend, id }: TaskAt, { route, principal }: Holder): string {
    if (isKnown(principal)) {
      const mark = this.#sealer.mark(purpose, [principal.key, backend.name, id])
      return `${handlePrefix(backend.name)}${handlePrefix(mark)}${id}`
    }
    return route.backends.length === 1 ? id : `${handlePrefix(backend.name)}${id}`
  }

  /** Undefined: it was never given to this caller here. */
  read(handle: string, { route, principal }: Holder): TaskAt | undefined {
    const known = isKnown(principal)
    if (!known && route.backends.length === 1) return { backend: route.backends[0]!, id: handle }
    const parsed = parseHandle(handle)
    const backend = parsed && route.backends.find(({ name }) => name === parsed.backend)
    if (backend === undefined) return undefined
    if (!known) return { backend, id: parsed!.id }
    const marked = parseHandle(parsed!.id)
    if (marked === undefined) return undefined
    const { backend: mark, id } = marked
    return this.#sealer.isMark(mark, purpose, [principal.key, backend.name, id]) ? { backend, id } : undefined
  }
}

const purpose = 'task'

const isKnown = ({ key }: Principal): boolean => key !== anonymous.key
