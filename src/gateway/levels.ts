/** Severities of `notifications/message`, least severe first (RFC 5424; server/utilities/logging). */
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

export const isLevel = (text: string): boolean => levels.includes(text)

/** Whether a line of that level passes a threshold. Unknown levels pass: they are not ours to judge. */
export function passes(level: string, threshold: string): boolean {
  const at = levels.indexOf(level)
  return at === -1 || at >= levels.indexOf(threshold)
}

/** What passes from shared and in-process backends before `logging/setLevel`. */
export const defaultLevel = 'warning'

/** The level that an upstream needs for all of its sessions. Undefined: a session that set none. */
export const lowestOf = (thresholds: readonly (string | undefined)[]): string =>
  thresholds
    .map(threshold => threshold ?? defaultLevel)
    .reduce((low, next) => (levels.indexOf(next) < levels.indexOf(low) ? next : low))
