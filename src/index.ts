/** Public interface of the package. */
import type { Config } from './config/config.ts'
import { load } from './config/load.ts'

export { faultOfHandler } from './backends/scope.ts'
export { createGateway, type Gateway, type Notification, type Parts } from './compose.ts'
export { ConfigError } from './config/problem.ts'
export { type ErrorCode, GatewayError } from './errors.ts'
export * from './handlers/define.ts'
export type { Config }

/** Reads a config file. Rejects with a ConfigError that tells everything that is wrong with it. */
export const loadConfig = async (path: string): Promise<Config> => (await load(path)).config
