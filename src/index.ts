/** Public interface of the package. */
export { createGateway, type Gateway, type Notification, type Parts } from './compose.ts'
export type { Config } from './config/config.ts'
export { type ErrorCode, GatewayError } from './errors.ts'
export * from './handlers/define.ts'
