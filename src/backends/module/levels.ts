import type { LogLevel } from '../../handlers/content.ts'

/** RFC 5424, least severe first (server/utilities/logging). */
export const levels: readonly LogLevel[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency'
]

export const isLevel = (value: unknown): value is LogLevel => levels.includes(value as LogLevel)

export const atLeast = (level: LogLevel, lowest: LogLevel): boolean => levels.indexOf(level) >= levels.indexOf(lowest)
