/** How long tasks are kept, and how often clients ask for them. */
import type { AnyTool } from '../../handlers/handler.ts'

/** Milliseconds for which a task is kept: at most, at least, and where nobody says. */
const maxTtl = 86_400_000
const leastTtl = 1_000
const usualTtl = 3_600_000

/** Milliseconds after which a client that polls may ask again. */
const usualPollInterval = 1_000

export interface TaskTimes {
  readonly ttl: number
  readonly pollInterval: number
}

/** `ttl`: what the client wants; null: as long as possible. */
export const timesOf = ({ task }: AnyTool, ttl: number | null | undefined = task?.ttl ?? usualTtl): TaskTimes => ({
  ttl: ttl === null ? maxTtl : Math.min(maxTtl, Math.max(leastTtl, Math.round(ttl))),
  pollInterval: Math.max(1, Math.round(task?.pollInterval ?? usualPollInterval))
})
