/** Process groups of children: what a child started ends with it. */
import { setTimeout as sleep } from 'node:timers/promises'

/** Groups that may still have members. A gateway that exits without a drain takes them with it. */
const groups = new Set<number>()
let watching = false

/** `leader`: a process that was started detached, so that it leads a group of its own. */
export function rememberGroup(leader: number): void {
  groups.add(leader)
  if (watching) return
  watching = true
  process.on('exit', () => {
    for (const group of groups) signalGroup(group, 'SIGKILL')
  })
}

/** Whether it has members (0 asks, and sends nothing). */
export function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-leader, signal)
  } catch {
    return false
  }
}

/** After the leader's end: SIGTERM for the others, SIGKILL for who is left after `graceMs`. */
export async function endGroup(leader: number, graceMs: number): Promise<void> {
  const deadline = performance.now() + graceMs
  let members = signalGroup(leader, 'SIGTERM')
  while (members && performance.now() < deadline) {
    await sleep(20)
    members = signalGroup(leader, 0)
  }
  if (members) signalGroup(leader, 'SIGKILL')
  groups.delete(leader)
}
