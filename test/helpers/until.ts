/** Waits until a condition holds; rejects at the deadline, saying what was waited for. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, deadlineMs = 5_000): Promise<void> {
  const deadline = performance.now() + deadlineMs
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited ${deadlineMs} ms in vain for: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 2))
  }
}
