/** Whether a method belongs to the protocol itself, of whatever revision; others are those of extensions and vendors. */
export const isCore = (method: string): boolean => core.test(method)

const core =
  /^(initialize|ping|(tools|prompts|resources|completion|logging|tasks|sampling|elicitation|roots|server|subscriptions|notifications)(\/|$))/
