/** Where the gateway listens, and what clients are told of it. */
import { localUrl } from '../http/addresses.ts'
import type { Instance } from './instance.ts'

export class Addresses {
  readonly #instance: Pick<Instance, 'config' | 'generations'>
  /** Undefined before it listens. */
  port: number | undefined
  adminPort: number | undefined

  constructor(instance: Pick<Instance, 'config' | 'generations'>) {
    this.#instance = instance
  }

  get own(): string {
    const { host, port } = this.#instance.config.server
    return localUrl(host, this.port ?? port)
  }

  get admin(): string | undefined {
    return this.adminPort === undefined ? undefined : localUrl(this.#instance.config.admin!.host, this.adminPort)
  }

  /** Of a route; of the first one when none is named. */
  readonly url = (route = this.#instance.generations.current.config.routes[0]!.path): string =>
    new URL(route, this.#instance.config.server.publicUrl ?? this.own).href
}
