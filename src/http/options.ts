import type { Config } from '../config/config.ts'
import type { ServerOptions } from './server.ts'

/** What the listener for clients is told of the config; all of it needs a restart (src/config/diff.ts). */
export const serverOptionsOf = ({ server, streams }: Config): ServerOptions => ({
  host: server.host,
  publicUrl: server.publicUrl,
  allowedOrigins: server.allowedOrigins,
  allowedHosts: server.allowedHosts,
  trustProxy: server.trustProxy,
  bodyLimit: server.limits.body,
  maxConnections: server.limits.maxConnections,
  headersTimeoutMs: server.limits.headersTimeout,
  requestTimeoutMs: server.limits.requestTimeout,
  keepAliveMs: streams.keepAlive,
  stallMs: streams.stall,
  highWater: streams.highWater
})
