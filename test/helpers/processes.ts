import { readdirSync, readFileSync } from 'node:fs'

/** State letter and parent of a process, as /proc has them; undefined when there is none. */
function stat(pid: number): { readonly state: string; readonly parent: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state = '', parent] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state, parent: Number(parent) }
  } catch {
    return undefined
  }
}

/** Whether a process runs (a zombie does not). */
export function runs(pid: number): boolean {
  const found = stat(pid)
  return found !== undefined && found.state !== 'Z'
}

/** Pids of a process's children (this one's unless named), zombies among them. */
export const children = (of = process.pid): number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter(pid => pid > 0 && stat(pid)?.parent === of)
