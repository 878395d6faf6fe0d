/**
 * Whether an upstream that refuses a request says that it does not know the session. 404 says so (basic/transports,
 * "Session Management"); servers made after the examples of the official SDK say 400 with an error -32000, and those of one
 * transport that was started anew that they are not initialized (SES-06).
 */
export function isForgotten(status: number, body: Buffer | undefined): boolean {
  if (status === 404) return true
  if (status !== 400 || body === undefined || body.length > maxBody) return false
  try {
    const { error } = JSON.parse(body.toString()) as { error?: { code?: unknown; message?: unknown } }
    return error?.code === -32_000 && /\bsession\b|\bnot initialized\b/i.test(String(error.message))
  } catch {
    return false
  }
}

/** Bytes; who has more to say says something else. */
const maxBody = 4 * 1024
