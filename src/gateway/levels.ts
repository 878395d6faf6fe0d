/** Severities of `notifications/message`, least severe first (RFC 5424; server/utilities/logging). */
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

export const isLevel = (text: string): boolean => levels.includes(text)

/** Whether a line of that level passes a threshold. Unknown levels pass: they are not ours to judge. */
export function passes(level: string, threshold: string): boolean {
  const at = levels.indexOf(level)
  return at === -1 || at >= levels.indexOf(threshold)
}

/** The lowest of several thresholds. */
export const lowest = (thresholds: readonly string[]): string =>
  thresholds.reduce((low, next) => (levels.indexOf(next) < levels.indexOf(low) ? next : low))

/** What passes from shared and in-process backends before `logging/setLevel`. */
export const defaultLevel = 'warning'
