/** Settings that follow the config while the gateway runs. They stand in plain objects, so that reading one costs nothing. */
import type { Config } from '../config/config.ts'

export class Settings {
  #config: Config
  readonly #followers: ((config: Config) => void)[] = []

  constructor(config: Config) {
    this.#config = config
  }

  /** `target` with what `make` makes of the config, now and each time that another one is applied. */
  follow<T extends object, S extends object>(target: T, make: (config: Config) => S): T & S {
    const followed = Object.assign(target, make(this.#config))
    this.#followers.push(config => void Object.assign(target, make(config)))
    return followed
  }

  /** `act` is called with every config that is applied from now on. */
  on(act: (config: Config) => void): void {
    this.#followers.push(act)
  }

  apply(config: Config): void {
    this.#config = config
    for (const follow of this.#followers) follow(config)
  }
}
